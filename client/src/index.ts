// @rejoinder/reader: everything that may be imported.

export { Backoff } from "./backoff.js";
export * from "./event.js";
export { type Block, BlockParser, blocks } from "./event-stream.js";
export { type FoldResult, fold, isOver } from "./fold.js";
export * from "./frame.js";
export { type Notice, incomplete, notices } from "./notice.js";
export * from "./page.js";
export { NO_PREVIEWS, type Preview, type Previews } from "./preview.js";
export { type FollowOptions, Reader, follow } from "./reader.js";
export { RequestError, type Server } from "./server.js";
export { type Execution, type Read, type Snapshot, snapshot } from "./snapshot.js";
export {
  type History,
  type Input,
  type Loaded,
  Loading,
  type Next,
  RECENT,
  type ReaderState,
  type Status,
  begin,
  reduce,
} from "./state.js";
export type { Clock, Presence } from "./surroundings.js";
export * from "./thread.js";
