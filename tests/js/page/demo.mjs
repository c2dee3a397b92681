// rejoinder's demo: no form, whoever sits at the machine is signed in by itself; each starter of an empty page shows one
// thing.

import { scenario } from "../browser.mjs";

const story =
  "A line may break at any moment. The words that were under way are not lost: the server knows which of them your page " +
  "has seen, and says the others again when you are back. Nothing is missing, and nothing stands there twice. You may " +
  "close the lid of your laptop now and open it again in a minute; I shall be done by then.";

const said = [
  "user_message: stream",
  `assistant_message: ${story}`,
  "user_message: tool",
  "tool: Used search the library",
  "assistant_message: I looked it up and found 3 pages.",
  "user_message: ask",
  "assistant_message: What is your name?",
  "user_message: Ada",
  "assistant_message: Nice to meet you, Ada!",
  "user_message: count",
  "assistant_message: In this conversation I have counted to 1.",
];
const pages = "3 pages: proof of arrival, catching up, resuming once";

await scenario(async ({ person, page, base, ok, check, shot }) => {
  await page.goto(`${base}/`);
  await page.locator("#starter-let-an-answer-grow").waitFor();
  ok("signed in without a form, and offered something");
  await shot("starters");

  const whole = (steps) => JSON.stringify(steps) === JSON.stringify(said);

  await page.locator("#starter-let-an-answer-grow").click();
  await person.sees("assistant_message", /A line may break/);
  check(await person.stopButton.isVisible(), "the text is seen while it grows");
  await person.sees("assistant_message", story);
  ok("the streamed text is whole");
  await shot("streamed");

  await person.send("tool");
  await person.sees("assistant_message", "I looked it up and found 3 pages.");
  await person.seesStep("search the library", pages);
  ok("the step shows what was found");
  await shot("tool");

  await person.send("ask");
  await person.sees("assistant_message", "What is your name?");
  await person.send("Ada");
  await person.sees("assistant_message", "Nice to meet you, Ada!");
  ok("it asks, and takes the answer");

  await person.send("count");
  await person.sees("assistant_message", said.at(-1).slice("assistant_message: ".length));
  await person.ready();
  const steps = await person.transcript();
  check(whole(steps), "all in order, nothing twice", steps);
  await shot("talked");

  const thread = await person.threadId();
  await page.reload();
  await person.transcriptWhere(whole, "the whole conversation after a reload");
  await person.seesStep("search the library", pages);
  ok("after a reload all is there, in order and with what it holds");
  await person.sidebarEntry(thread).waitFor();
  check((await person.sidebarEntry(thread).innerText()).trim() === "stream", "the sidebar has the conversation");
  await shot("reloaded");

  await person.send("count");
  await person.sees("assistant_message", "In this conversation I have counted to 2.");
  ok("it went on counting");
  await shot("counted");

  await person.send("buttons");
  await page.getByRole("button", { name: "Tea" }).click();
  await person.sees("assistant_message", "Here is your tea.");
  await page.getByRole("button", { name: "Once more" }).click();
  await person.sees("assistant_message", "Another tea it is.");
  ok("buttons are pressed, in a question and below a message");

  await person.send("elements");
  await person.sees("assistant_message", /A picture, a table/);
  await page.locator("img[alt='line.svg']").waitFor();
  await page.getByText("how often").first().waitFor();
  await page.locator(".js-plotly-plot, .plotly").first().waitFor();
  ok("a picture, a table and a figure are there");
  await shot("elements");

  await person.send("tasks");
  await person.sees("assistant_message", "All three tasks are done.");
  await page.getByText("write the answer").locator("visible=true").first().waitFor();
  await person.send("side");
  await person.sees("assistant_message", "The side view is open.");
  await page.getByText("Beside the chat there is room").locator("visible=true").first().waitFor();
  await shot("side");

  await person.send("commands");
  await person.sees("assistant_message", /The composer has commands/);
  await page.getByRole("button", { name: "Search" }).first().waitFor();
  await person.send("settings");
  await person.sees("assistant_message", /I answer softly/);
  await person.send("what else");
  await person.sees("assistant_message", /You said: what else/);
  ok("it says what it knows");
  await shot("everything");
});
