import {defineConfig, type Plugin} from 'vite';

// `WINNOW_FIXTURE=1 npm run dev` answers /v1 from dev/fixture.mjs; otherwise the development server hands /v1 on to
// WINNOW_SERVER. Neither is part of what is built.
function fixture(): Plugin {
  return {
    name: 'fixture',
    apply: 'serve',
    async configureServer(server) {
      if (!process.env.WINNOW_FIXTURE) return;
      const {answer} = await import(new URL('dev/fixture.mjs', `file://${server.config.root}/`).href);
      server.middlewares.use((request, response, next) => answer(request, response, next));
    },
  };
}

const target = process.env.WINNOW_SERVER ?? 'http://127.0.0.1:8080';
const onward = {target, configure: (proxy: {on: Function}) => proxy.on('proxyReq', (r: {setHeader: Function}) => r.setHeader('origin', target))};

export default defineConfig({
  esbuild: {jsx: 'automatic', jsxImportSource: 'preact'},
  plugins: [fixture()],
  build: {
    target: 'es2022',
    // Nothing is inlined: the page's content security policy allows its own files only.
    assetsInlineLimit: 0,
    modulePreload: {polyfill: false},
    reportCompressedSize: true,
    emptyOutDir: true,
  },
  server: {
    proxy: {
      '/v1': onward,
      '/metrics': onward,
      '/logout': onward,
      '/sign-in': onward,
      '/login': {...onward, bypass: (request) => (request.method === 'POST' ? undefined : '/index.html')},
    },
  },
});
