import { defineConfig } from "vite";

// One folder with fixed names, so that a server can carry it inside. Addresses are relative: the page is at
// …/observe/THREAD, its files are beside it (no thread's id has a dot), below whatever root path.
export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    assetsInlineLimit: 0,
    rollupOptions: {
      output: { entryFileNames: "observer.js", assetFileNames: "observer[extname]" },
    },
  },
});
