// An app on @chainlit/react-client, as somebody writes one: sign in, talk, answer, upload, stop, edit, press. It shows all
// that the hooks tell, so that a test sees on the page what the library made of the wire.

import { useContext, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { RecoilRoot } from "recoil";
import {
  ChainlitAPI,
  ChainlitContext,
  useAuth,
  useChatData,
  useChatInteract,
  useChatMessages,
  useChatSession,
} from "@chainlit/react-client";

const server = new URLSearchParams(location.search).get("server");
const api = new ChainlitAPI(server, "webapp");

function App() {
  const { isReady, isAuthenticated, user, setUserFromAPI, logout } = useAuth();
  if (!isReady) return <p>one moment</p>;
  if (!isAuthenticated || !user) return <Login done={setUserFromAPI} />;
  return (
    <>
      <p>
        signed in as <b id="who">{user.identifier}</b> <button id="logout" onClick={() => logout(true)}>sign out</button>
      </p>
      <Chat user={user} />
    </>
  );
}

function Login({ done }) {
  const client = useContext(ChainlitContext);
  const [error, setError] = useState("");
  const submit = async (event) => {
    event.preventDefault();
    try {
      await client.passwordAuth(new FormData(event.target));
      await done();
    } catch (failure) {
      setError(`${failure.detail ?? failure.message}`);
    }
  };
  return (
    <form onSubmit={submit}>
      <input name="username" placeholder="name" /> <input name="password" type="password" placeholder="password" />{" "}
      <button>sign in</button> <i id="login-error">{error}</i>
    </form>
  );
}

function Chat({ user }) {
  const { connect, disconnect, session } = useChatSession();
  const { connected, loading, askUser, actions, elements, error } = useChatData();
  const { messages, threadId, firstInteraction } = useChatMessages();
  const { stopTask, clear } = useChatInteract();
  useEffect(() => {
    connect({ userEnv: {} });
    return () => disconnect();
  }, []);
  return (
    <>
      <p>
        <span id="state">{error ? "unreachable" : connected ? "connected" : "connecting"}</span>{" "}
        <span id="loading">{loading ? "busy" : "idle"}</span> <span id="thread">{threadId ?? ""}</span>{" "}
        <span id="interaction">{firstInteraction ?? ""}</span> <span id="ask">{askUser?.spec.type ?? ""}</span>{" "}
        <button id="stop" onClick={stopTask}>stop</button> <button id="clear" onClick={clear}>clear</button>
      </p>
      <ul>{messages.map((step) => <Step key={step.id} step={step} />)}</ul>
      <ul>
        {elements.map((element) => (
          <li key={element.id} className="element" data-for={element.forId}>
            <a href={element.url}>{`${element.type} ${element.name}`}</a>
          </li>
        ))}
      </ul>
      <p>{actions.map((action) => <Press key={action.id} action={action} session={session} />)}</p>
      <Composer user={user} />
    </>
  );
}

/** A step with those below it. The pencil of a person's message puts an exclamation mark behind its text. */
function Step({ step }) {
  const { editMessage } = useChatInteract();
  const isMine = step.type === "user_message";
  return (
    <li>
      <span className="step" data-type={step.type} data-name={step.name}>
        {step.output}
      </span>
      {isMine && <button className="edit" onClick={() => editMessage({ ...step, output: `${step.output}!` })}>edit</button>}
      {step.steps?.length > 0 && <ul>{step.steps.map((below) => <Step key={below.id} step={below} />)}</ul>}
    </li>
  );
}

function Press({ action }) {
  const client = useContext(ChainlitContext);
  const { sessionId } = useChatSession();
  const { askUser } = useChatData();
  const asked = askUser?.spec.type === "action" && askUser.spec.keys.includes(action.id);
  const press = () => (asked ? askUser.callback(action) : client.callAction(action, sessionId));
  return <button className="action" onClick={press}>{action.label || action.name}</button>;
}

function Composer({ user }) {
  const { sendMessage, replyMessage, uploadFile } = useChatInteract();
  const { askUser } = useChatData();
  const [text, setText] = useState("");
  const [files, setFiles] = useState([]);
  const asksFile = askUser?.spec.type === "file";
  const submit = async (event) => {
    event.preventDefault();
    const uploads = files.map((file) => uploadFile(file, () => {}, asksFile ? askUser.parentId : undefined).promise);
    const references = (await Promise.all(uploads)).map(({ id }) => ({ id }));
    // The library makes id and time of a message, but not of an answer.
    const answer = { id: crypto.randomUUID(), createdAt: new Date().toISOString() };
    const message = { name: user.identifier, type: "user_message", output: text, ...(askUser ? answer : {}) };
    setText("");
    setFiles([]);
    if (asksFile) askUser.callback(references);
    else if (askUser) replyMessage(message);
    else sendMessage(message, references);
  };
  return (
    <form id="composer" onSubmit={submit}>
      <input id="text" value={text} onChange={(event) => setText(event.target.value)} />{" "}
      <input id="files" type="file" multiple onChange={(event) => setFiles([...event.target.files])} /> <button>send</button>
    </form>
  );
}

createRoot(document.querySelector("#root")).render(
  <RecoilRoot>
    <ChainlitContext.Provider value={api}>
      <App />
    </ChainlitContext.Provider>
  </RecoilRoot>,
);
