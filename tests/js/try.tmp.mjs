import { spawn } from "node:child_process"; import { createInterface } from "node:readline";
const base="http://127.0.0.1:8611";
const f=new FormData(); f.set("username","alice"); f.set("password","pw");
const r=await fetch(base+"/login",{method:"POST",body:f}); const cookie=r.headers.getSetCookie()[0].split(";")[0];
const [cmd,...a]=process.argv.slice(2);
const p=spawn(cmd,a,{stdio:["pipe","pipe","inherit"]}); const send=o=>p.stdin.write(JSON.stringify(o)+"\n");
const wait=ms=>new Promise(r=>setTimeout(r,ms));
createInterface({input:p.stdout}).on("line",l=>{console.log(l.slice(0,220)); const e=JSON.parse(l); if(e.event=="ask") send({op:"ack",id:e.id,ack:e.ack,value:{id:crypto.randomUUID(),type:"user_message",name:"alice",output:"Ada",createdAt:new Date().toISOString()}})});
p.on("exit",c=>console.log("exit",c));
for (const [id,transports] of [["ws",["websocket"]],["poll",["polling"]],["both",undefined]]) {
 send({op:"connect",id,url:base,cookie,transports,auth:{clientType:"webapp",sessionId:crypto.randomUUID(),threadId:"",userEnv:"{}",chatProfile:""}});
 send({op:"emit",id,event:"connection_successful"});
 await wait(1000);
 if(id=="both"){send({op:"emit",id,event:"client_message",args:[{message:{id:crypto.randomUUID(),name:"alice",type:"user_message",output:"/ask",createdAt:new Date().toISOString()},fileReferences:[]}]}); await wait(1000);}
 console.log("--- kill"); send({op:"kill-transport",id}); await wait(2500);
}
send({op:"connect",id:"bad",url:base,auth:{clientType:"webapp",sessionId:"x"}}); send({op:"nope"}); await wait(700);
send({op:"close",id:"ws"}); await wait(300); send({op:"quit"});
