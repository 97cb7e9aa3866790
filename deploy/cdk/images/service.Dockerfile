# The service itself. From the root of the project:
#   docker build -f deploy/cdk/images/service.Dockerfile -t lazaret:TAG .
FROM public.ecr.aws/docker/library/node:24-trixie-slim
WORKDIR /opt/lazaret
COPY package.json package-lock.json .npmrc ./
COPY packages ./packages
# No scripts: they would only fetch the Node that is here already.
RUN npm ci --omit=dev --ignore-scripts --no-fund --no-audit \
 && node node_modules/vite/bin/vite.js build packages/console \
 && npm cache clean --force \
 && mkdir -p /var/lib/lazaret \
 && chown node:node /var/lib/lazaret
# Few memory pools of the C library: each keeps its largest size, see docs/performance.md.
ENV MALLOC_ARENA_MAX=2
ENV NODE_ENV=production TMPDIR=/var/lib/lazaret LAZARET_DATA_DIR=/var/lib/lazaret/data
USER node
# A volume that is mounted there takes over owner and contents.
VOLUME ["/var/lib/lazaret"]
EXPOSE 8040
ENTRYPOINT ["node", "packages/server/bin/lazaret.mjs"]
CMD ["serve"]
