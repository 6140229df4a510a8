# The server as an image (spec 8.6): the sources run as they are, so there is no build step, only the packages.
# The base is the Node of package.json's optionalDependencies; a new version changes in both places.

FROM node:24.21.0-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Optional is only the Node for machines with an older one; no package needs its install script.
RUN npm ci --omit=dev --omit=optional --ignore-scripts

FROM node:24.21.0-slim
# Processes that a task leaves behind become children of the first one: tini collects them, Node does not.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates git tini \
  && rm -rf /var/lib/apt/lists/* \
  && install --directory --owner=node --group=node --mode=0700 /var/lib/holdfast
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY package.json app.yml LICENSE ./
COPY bin ./bin
COPY scripts/suitable-node.mjs ./scripts/
COPY policies ./policies
COPY runners ./runners
COPY app ./app
ENV NODE_ENV=production \
  HOLDFAST_HOME=/var/lib/holdfast \
  HOST=0.0.0.0 \
  PORT=3000
USER node
VOLUME /var/lib/holdfast
EXPOSE 3000
# Asks for life alone: a full disk or a silent forge is no reason to be restarted (see /readyz).
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tini", "--", "node", "bin/holdfast.js"]
CMD ["start"]
