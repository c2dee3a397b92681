"""The reference app without `on_chat_resume`: the last row but one of chat-wire.md 2.3.

Run by apps/start. Its twin on rejoinder is the reference app with REFERENCE_WITHOUT_RESUME=1."""

import os

import chainlit as cl
from chainlit.data.sql_alchemy import SQLAlchemyDataLayer


@cl.password_auth_callback
def check_password(username: str, password: str):
    return cl.User(identifier=username, metadata={"role": "user"}) if password == "pw" else None


@cl.data_layer
def data_layer():
    return SQLAlchemyDataLayer(conninfo=os.environ.get("CONNINFO", "sqlite+aiosqlite:///./chat.db"))


@cl.on_chat_start
async def on_chat_start():
    await cl.Message("hello").send()


@cl.on_message
async def on_message(message: cl.Message):
    await cl.Message("echo: " + message.content).send()
