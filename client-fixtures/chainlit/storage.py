"""Where the apps keep files, on Chainlit."""

from pathlib import Path

from chainlit.data.storage_clients.base import BaseStorageClient


class PublicFolder(BaseStorageClient):
    """Keeps files in ./public, which Chainlit serves to everybody: good enough for a test."""

    async def upload_file(self, object_key, data, mime="application/octet-stream", overwrite=True, **_):
        file = Path("public/files") / object_key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data.encode() if isinstance(data, str) else data)
        return {"object_key": object_key, "url": await self.get_read_url(object_key)}

    async def delete_file(self, object_key):
        (Path("public/files") / object_key).unlink(missing_ok=True)
        return True

    async def get_read_url(self, object_key):
        return f"/public/files/{object_key}"

    async def close(self):
        pass
