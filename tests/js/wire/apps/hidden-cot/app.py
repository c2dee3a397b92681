"""The reference app's tool where the chain of thought is hidden: chat-wire.md 4.3.

Run by apps/start. Its twin on rejoinder is the reference app with `cot = "hidden"` in its file."""

import os

import chainlit as cl
from chainlit.config import config
from chainlit.data.sql_alchemy import SQLAlchemyDataLayer

# As `[UI] cot = "hidden"` would.
config.ui.cot = "hidden"


@cl.password_auth_callback
def check_password(username: str, password: str):
    return cl.User(identifier=username, metadata={"role": "user"}) if password == "pw" else None


@cl.data_layer
def data_layer():
    return SQLAlchemyDataLayer(conninfo=os.environ.get("CONNINFO", "sqlite+aiosqlite:///./chat.db"))


@cl.on_chat_start
async def on_chat_start():
    await cl.Message("hello").send()


@cl.on_chat_resume
async def on_chat_resume(thread):
    pass


@cl.on_message
async def on_message(message: cl.Message):
    command, _, text = message.content.partition(" ")
    if command != "/tool":
        await cl.Message("echo: " + message.content).send()
        return
    async with cl.Step(name="lookup", type="tool") as step:
        step.input = text
        step.output = f"found {text}"
    await cl.Message("done").send()
