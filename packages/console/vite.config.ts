import { defineConfig } from "vite";

/** Where `npm run console` finds a running service. */
const service = process.env.CONSOLE_SERVICE ?? "http://127.0.0.1:8040";

export default defineConfig({
  // Relative, so that the built files work under any path.
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    // The policy of the console allows no data: addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2023",
    reportCompressedSize: false,
  },
  server: {
    // The service compares Origin with its own address.
    proxy: { "/admin": { target: service, changeOrigin: true, headers: { origin: new URL(service).origin } } },
  },
});
