"""The reference app on Chainlit: what rejoinder is compared with.

Its twin is examples/reference.rs. Both do the same, hook by hook, so that a scenario can be played against either
server; change one, change the other. People sign in with any name and the password `pw`.
"""

import asyncio
import json
import os
import time
from collections import Counter, defaultdict

import chainlit as cl
from chainlit.data.sql_alchemy import SQLAlchemyDataLayer
from storage import PublicFolder

# How often each hook ran, by live session. Kept for the life of the process: a session that lost its line and came back
# must find its own counts.
calls: dict[str, Counter] = defaultdict(Counter)

# The threads whose resume has failed once already.
failed_threads: set[str] = set()


def session_calls() -> Counter:
    return calls[cl.user_session.get("id")]


async def say(text: str) -> None:
    await cl.Message(content=text).send()


# ---- signing in and storing ---------------------------------------------------------------------------------------


@cl.password_auth_callback
def sign_in(username: str, password: str):
    if password != "pw":
        return None
    return cl.User(identifier=username, metadata={"role": "user"})


@cl.data_layer
def store():
    # CONNINFO names another database, one made with schema-postgres.sql.
    # Without a place for files Chainlit stores no elements at all; KEEP_FILES=1 gives it one.
    return SQLAlchemyDataLayer(
        conninfo=os.environ.get("CONNINFO", "sqlite+aiosqlite:///./chat.db"),
        storage_provider=PublicFolder() if os.environ.get("KEEP_FILES") else None,
    )


# ---- the life of a chat -------------------------------------------------------------------------------------------


@cl.on_chat_start
async def on_chat_start():
    session_calls()["on_chat_start"] += 1
    await say("hello")


@cl.on_chat_resume
async def on_chat_resume(thread):
    """What happens is told by the thread's name, which a test sets by renaming it."""
    session_calls()["on_chat_resume"] += 1
    match (thread.get("name") or "").split():
        case ["slow", milliseconds, *_]:
            await asyncio.sleep(int(milliseconds) / 1000)
        case ["fail-once", *_] if thread["id"] not in failed_threads:
            failed_threads.add(thread["id"])
            raise RuntimeError("resume failed")
        case ["greet", *_]:
            await say("welcome back")


@cl.on_chat_end
async def on_chat_end():
    session_calls()["on_chat_end"] += 1


@cl.on_stop
async def on_stop():
    session_calls()["on_stop"] += 1


@cl.on_settings_update
async def on_settings_update(settings):
    session_calls()["on_settings_update"] += 1
    await say(json.dumps(settings, sort_keys=True))


@cl.action_callback("press")
async def on_press(action: cl.Action):
    await say(f"pressed {action.payload['n']}")


@cl.action_callback("wonder")
async def on_wonder(action: cl.Action):
    answer = await cl.AskUserMessage("really?", timeout=action.payload["seconds"]).send()
    if answer and answer["output"] == "fail":
        raise ValueError("failed as asked")
    await say(f"you said: {answer['output']}" if answer else "no answer")


# ---- messages -----------------------------------------------------------------------------------------------------


@cl.on_message
async def on_message(message: cl.Message):
    session_calls()["on_message"] += 1
    # Split at single blanks, so that the rest of the text comes together again as it was.
    command, *words = message.content.split(" ")
    text = " ".join(words)
    match command:
        case "/calls":
            await say(json.dumps(session_calls(), sort_keys=True))
        case "/context":
            await say(json.dumps([entry["content"] for entry in cl.chat_context.to_openai()]))
        case "/stream":
            await stream(count=int(words[0]), pause=int(words[1]) / 1000)
        case "/tool":
            async with cl.Step(name="lookup", type="tool") as step:
                step.input = text
                step.output = f"found {text}"
            await say("done")
        case "/sleep":
            await asyncio.sleep(int(words[0]) / 1000)
            await say("slept")
        case "/block":
            # Its thread is held, and whoever shares it.
            time.sleep(int(words[0]) / 1000)
            await say("blocked")
        case "/many":
            for n in range(int(words[0])):
                await say(f"m{n}")
        case "/error":
            raise ValueError(text or "boom")
        case "/set":
            cl.user_session.set(words[0], " ".join(words[1:]))
            await say("ok")
        case "/get":
            await say(str(cl.user_session.get(words[0])))
        case "/ask":
            answer = await cl.AskUserMessage("your name?", timeout=int(words[0]) if words else 30).send()
            await say(f"you said: {answer['output']}" if answer else "no answer")
        case "/ask-action":
            await ask_action()
        case "/ask-file":
            files = await cl.AskFileMessage("a file?", accept=["text/plain"], timeout=30).send()
            await say(f"got: {files[0].name} {files[0].size}" if files else "no answer")
        case "/element":
            note = cl.Text(name="note", content="a note", display="inline")
            await cl.Message(content="see", elements=[note]).send()
        case "/action":
            press = cl.Action(name="press", payload={"n": 1}, label="Press")
            await cl.Message(content="press", actions=[press]).send()
        case "/action-ask":
            wonder = cl.Action(name="wonder", payload={"seconds": int(words[0]) if words else 30}, label="Wonder")
            await cl.Message(content="wonder", actions=[wonder]).send()
        case "/settings":
            await settings_form()
            await say("settings sent")
        case "/toast":
            await cl.context.emitter.send_toast("ping", "info")
        case _:
            await say(f"echo: {message.content}")


async def stream(count: int, pause: float) -> None:
    reply = cl.Message(content="")
    for n in range(count):
        await reply.stream_token(f"t{n} ")
        await asyncio.sleep(pause)
    await reply.update()


async def ask_action() -> None:
    choices = [cl.Action(name=name, payload={"value": name}, label=name.capitalize()) for name in ("yes", "no")]
    answer = await cl.AskActionMessage("continue?", actions=choices, timeout=30).send()
    await say(f"chose: {answer['name']}" if answer else "no answer")


async def settings_form() -> None:
    await cl.ChatSettings(
        [
            cl.input_widget.Switch(id="loud", label="Loud", initial=False),
            cl.input_widget.Select(id="model", label="Model", values=["a", "b"], initial_index=0),
        ]
    ).send()
