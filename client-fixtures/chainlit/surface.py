"""The surface app on Chainlit: everything that the stock page, the copilot and @chainlit/react-client can show and do.

Its twin is examples/surface.rs; both do the same, hook by hook. What they read is in surface/: configuration, pictures,
custom elements, small files of every kind. People sign in with any name and the password `pw`.
"""

import json
import os
from pathlib import Path

import chainlit as cl
from chainlit.config import ChainlitConfigOverrides, UISettings
from chainlit.data.sql_alchemy import SQLAlchemyDataLayer
from chainlit.input_widget import (
    Checkbox, DatePicker, MultiSelect, NumberInput, RadioGroup, Select, Slider, Switch, Tab, Tags, TextInput,
)
from chainlit.mode import Mode, ModeOption
from chainlit.types import Starter, StarterCategory
from storage import PublicFolder

# The last vote, which comes by HTTP and has no chat.
last_vote = {}


async def say(text: str) -> None:
    await cl.Message(content=text).send()


def compact(value) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def as_json(value) -> str:
    """As code, since the page reads a colon in a text as Markdown."""
    return f"`{compact(value)}`"


def file(name: str) -> bytes:
    return (Path("files") / name).read_bytes()


# ---- signing in, storing, sharing ----------------------------------------------------------------------------------


@cl.password_auth_callback
def sign_in(username: str, password: str):
    return cl.User(identifier=username, metadata={"role": "user"}) if password == "pw" else None


@cl.on_logout
def on_logout(request, response):
    return {"success": True, "bye": True}


@cl.data_layer
def store():
    return SQLAlchemyDataLayer(
        conninfo=os.environ.get("CONNINFO", "sqlite+aiosqlite:///./chat.db"),
        storage_provider=PublicFolder() if os.environ.get("KEEP_FILES") else None,
    )


@cl.on_feedback
async def on_feedback(feedback):
    last_vote.update(value=feedback.value, comment=feedback.comment)


@cl.on_shared_thread_view
async def on_shared_thread_view(thread, viewer):
    """A thread whose name begins so may be seen by everybody."""
    return (thread.get("name") or "").startswith("open")


# ---- what there is to choose ---------------------------------------------------------------------------------------


@cl.set_chat_profiles
async def chat_profiles(user):
    return [
        cl.ChatProfile(name="plain", display_name="Plain", markdown_description="nothing **special**", default=True),
        cl.ChatProfile(
            name="fancy",
            markdown_description="has starters of its own",
            icon="/public/avatars/robin.png",
            starters=[Starter(label="Be fancy", message="fancy that", icon="/public/avatars/robin.png")],
        ),
        cl.ChatProfile(name="sorted", markdown_description="has its starters under headings"),
        cl.ChatProfile(
            name="quiet",
            markdown_description="shows no steps",
            config_overrides=ChainlitConfigOverrides(ui=UISettings(name="Surface", cot="hidden")),
        ),
    ]


@cl.set_starters
async def starters(user):
    return [
        Starter(label="Greet", message="good morning", icon="/public/avatars/robin.png"),
        Starter(label="Look up", message="what is new", command="Search"),
    ]


@cl.set_starter_categories
async def starter_categories(user, language, profile):
    if profile != "sorted":
        return []
    return [
        StarterCategory(label="Work", icon="/public/avatars/robin.png", starters=[Starter(label="Plan", message="plan my day")]),
        StarterCategory(label="Play", starters=[Starter(label="Joke", message="tell me a joke")]),
    ]


@cl.author_rename
async def author_rename(author):
    return {"Surface": "Robin"}.get(author, author)


# ---- the life of a chat --------------------------------------------------------------------------------------------


@cl.on_chat_start
async def on_chat_start():
    """Says nothing: starters are shown on an empty page only."""


@cl.on_chat_resume
async def on_chat_resume(thread):
    pass


@cl.on_window_message
async def on_window_message(data):
    # The page passes on whatever its window gets, what it posted itself included.
    if isinstance(data, str) and data.startswith("host: "):
        await say(f"window: {data.removeprefix('host: ')}")


@cl.on_settings_update
async def on_settings_update(values):
    await say(f"settings: {as_json(values)}")


@cl.on_settings_edit
async def on_settings_edit(values):
    await say(f"edited: {as_json(values)}")


@cl.action_callback("press")
async def on_press(action: cl.Action):
    await say(f"pressed {action.payload['n']}")
    return f"pressed {action.payload['n']}"


@cl.action_callback("fail")
async def on_fail(action: cl.Action):
    raise RuntimeError("no such luck")


# ---- messages ------------------------------------------------------------------------------------------------------


@cl.on_message
async def on_message(message: cl.Message):
    command, *words = message.content.split(" ")
    match command:
        case "/element":
            await cl.Message(content="see shown", elements=[element(words[0], *words[1:2])]).send()
        case "/ask-action":
            answer = await cl.AskActionMessage(content="which?", actions=[press(1), press(2)], timeout=60).send()
            await say(f"chose: {answer['label']}" if answer else "no answer")
        case "/ask-element":
            form = cl.CustomElement(name="Form", props={"colors": ["red", "blue"]})
            answer = await cl.AskElementMessage(content="fill in", element=form, timeout=60).send()
            await say(f"filled in: {as_json(answer)}" if answer else "no answer")
        case "/ask-file":
            await ask_file(int(words[0]))
        case "/call-fn":
            answer = await cl.context.emitter.send_call_fn("price", {"item": words[1]}, timeout=int(words[0]))
            await say("no answer" if answer is None else f"the host says: {as_json(answer)}")
        case "/sidebar":
            await sidebar(*words)
        case "/commands":
            await cl.context.emitter.set_commands(
                [
                    {"id": "Search", "description": "looks it up", "icon": "globe", "button": True},
                    {"id": "Draw", "description": "draws it", "icon": "pen-line", "persistent": True},
                    {"id": "Note", "description": "notes it down", "icon": "notebook"},
                ]
            )
            await say("commands set")
        case "/modes":
            await modes()
            await say("modes set")
        case "/settings":
            await settings_form(*words)
            await say("settings sent")
        case "/usage":
            await cl.context.emitter.update_token_count(int(words[0]))
            await say("counted")
        case "/window":
            await cl.send_window_message({"said": words[0]})
            await say("posted")
        case "/remove":
            await remove(words[0])
        case "/steps":
            await steps()
        case "/tasks":
            await tasks()
        case "/actions":
            await actions()
        case "/author":
            await cl.Message(content="it is me", author=words[0]).send()
        case "/profile":
            await say(f"profile: {cl.user_session.get('chat_profile')}")
        case "/vote":
            await say(f"vote: {as_json(last_vote)}")
        case _:
            await echo(message)


async def echo(message: cl.Message) -> None:
    text = f"echo: {message.content}"
    if message.command:
        text += f" (command {message.command})"
    if message.modes:
        text += f" (modes {as_json(message.modes)})"
    files = [f"{file.name} {Path(file.path).stat().st_size}" for file in message.elements]
    if files:
        text += f" (files {', '.join(files)})"
    await say(text)


# ---- elements ------------------------------------------------------------------------------------------------------


class Figure(cl.element.Element):
    """Chainlit's own Plotly and Dataframe want libraries that make what is in these two."""

    type = "plotly"


class Table(cl.element.Element):
    type = "dataframe"


FIGURE = {"data": [{"type": "bar", "x": ["a", "b"], "y": [1, 3]}], "layout": {"title": {"text": "bars"}}}
TABLE = {"columns": ["name", "age"], "index": [0, 1], "data": [["Ada", 36], ["Bob", 7]]}


def element(kind: str, display: str = "inline"):
    more = {"name": "shown", "display": display}
    match kind:
        case "text":
            return cl.Text(content="let shown = 1;", language="rust", **more)
        case "image":
            return cl.Image(content=file("dot.png"), size="small", **more)
        case "pdf":
            return cl.Pdf(content=file("two-pages.pdf"), page=2, **more)
        case "audio":
            return cl.Audio(content=file("tone.wav"), auto_play=False, **more)
        case "video":
            return cl.Video(content=file("clip.webm"), player_config={"file": {"attributes": {"muted": True}}}, **more)
        case "file":
            return cl.File(content=b"a,b\n1,2\n", mime="text/csv", **more)
        case "plotly":
            return Figure(content=compact(FIGURE), mime="application/json", size="medium", **more)
        case "dataframe":
            return Table(content=compact(TABLE), size="large", **more)
        case "custom":
            return cl.CustomElement(props={"count": 1}, **{**more, "name": "Counter"})
        case "link":
            return cl.Image(url="/public/avatars/robin.png", **more)
        case _:
            raise ValueError(f"no element of kind {kind}")


async def sidebar(what: str = "open") -> None:
    if what == "close":
        await cl.ElementSidebar.set_elements([])
        await say("sidebar closed")
        return
    await cl.ElementSidebar.set_title("Notes")
    await cl.ElementSidebar.set_elements([cl.Text(name="note", content="beside the chat")], key="notes")
    await say("sidebar open")


async def remove(what: str) -> None:
    match what:
        case "element":
            note = cl.Text(name="note", content="soon gone")
            message = await cl.Message(content="see", elements=[note]).send()
            await note.remove()
        case "actions":
            message = cl.Message(content="buttons", actions=[press(1), press(2)])
            await message.send()
            await message.remove_actions()
        case "message":
            message = await cl.Message(content="soon gone").send()
            await message.remove()
    await say("removed")


async def tasks() -> None:
    one, two = cl.Task(title="one", status=cl.TaskStatus.DONE), cl.Task(title="two", status=cl.TaskStatus.RUNNING)
    list = cl.TaskList(tasks=[one, two, cl.Task(title="three"), cl.Task(title="four", status=cl.TaskStatus.FAILED)])
    list.status = "Running..."
    await list.send()
    two.status = cl.TaskStatus.DONE
    list.status = "Done"
    await list.send()
    await say("tasks done")


# ---- buttons, questions, forms -------------------------------------------------------------------------------------


def press(n: int) -> cl.Action:
    return cl.Action(name="press", payload={"n": n}, label=f"Press {n}", tooltip="presses it", icon="hand")


async def actions() -> None:
    fail = cl.Action(name="fail", payload={}, label="Fail")
    await cl.Message(content="buttons", actions=[press(1), press(2), fail]).send()


async def ask_file(most: int) -> None:
    files = await cl.AskFileMessage(
        content="files?",
        accept={"text/plain": [".txt", ".md"], "image/png": [".png"]},
        max_files=most,
        max_size_mb=1,
        timeout=60,
    ).send()
    await say(f"got: {', '.join(f'{file.name} {file.size}' for file in files)}" if files else "no answer")


async def modes() -> None:
    fast = ModeOption(id="fast", name="Fast")
    careful = ModeOption(id="careful", name="Careful", description="thinks twice", icon="brain", default=True)
    dry, warm = ModeOption(id="dry", name="Dry"), ModeOption(id="warm", name="Warm")
    await cl.context.emitter.set_modes(
        [Mode(id="model", name="Model", options=[fast, careful]), Mode(id="tone", name="Tone", options=[dry, warm])]
    )


async def settings_form(layout: str = "") -> None:
    switch = Switch(id="switch", label="Switch", initial=True, tooltip="on or off", description="a switch")
    slider = Slider(id="slider", label="Slider", initial=3, min=0, max=10, step=1)
    if layout == "tabs":
        tabs = [Tab(id="one", label="One", inputs=[switch]), Tab(id="two", label="Two", inputs=[slider])]
        await cl.ChatSettings(tabs).send()
        return
    await cl.ChatSettings(
        [
            switch,
            Checkbox(id="checkbox", label="Checkbox", initial=False),
            slider,
            Select(id="select", label="Select", values=["a", "b"], initial_index=0),
            RadioGroup(id="radio", label="Radio", items={"Left": "l", "Right": "r"}, initial_value="r"),
            MultiSelect(id="multiselect", label="Multiselect", values=["x", "y", "z"], initial=["x"]),
            Tags(id="tags", label="Tags", initial=["new"]),
            TextInput(id="text", label="Text", initial="some", placeholder="a text"),
            TextInput(id="lines", label="Lines", multiline=True),
            NumberInput(id="number", label="Number", initial=7, placeholder="a number"),
            DatePicker(id="day", label="Day", mode="single", initial="2026-01-02", min_date="2026-01-01"),
            DatePicker(id="days", label="Days", mode="range", initial=("2026-01-02", "2026-01-05")),
            Switch(id="off", label="Off", disabled=True),
        ]
    ).send()


# ---- steps ---------------------------------------------------------------------------------------------------------


async def steps() -> None:
    async with cl.Step(name="outer", type="tool", show_input="python", default_open=True, icon="wrench") as outer:
        outer.input = "x = 1"
        async with cl.Step(name="inner", type="llm", language="json", auto_collapse=True) as inner:
            await inner.stream_token('{"a": ')
            await inner.stream_token("1}")
        outer.output = "x is 1"
    for type in ["embedding", "retrieval", "rerank", "undefined", "run"]:
        async with cl.Step(name=f"a {type}", type=type, show_input=False) as step:
            step.input = "in"
            step.output = f"out of {type}"
    try:
        async with cl.Step(name="failing", type="tool"):
            raise RuntimeError("no luck")
    except RuntimeError:
        pass
    await say("steps done")
