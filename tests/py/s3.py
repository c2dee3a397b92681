"""A server that speaks the protocol of S3, on a free port of this machine, with one bucket. Ends with its caller."""

import sys
import threading
import urllib.request

from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
_, port = server.get_host_and_port()
bucket = f"http://127.0.0.1:{port}/{sys.argv[1]}"
urllib.request.urlopen(urllib.request.Request(bucket, method="PUT")).read()
print(f"serving http://127.0.0.1:{port}/", flush=True)
threading.Event().wait()
