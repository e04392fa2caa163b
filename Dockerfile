# The local stack: docker run --rm --network host -v "$PWD/docs:/pages:ro" -v sakuin:/home/sakuin IMAGE
# It listens on 127.0.0.1 alone, so it shares the network of its host.
FROM python:3.13-slim
ARG VERSION
# Postgres does not run as root.
RUN useradd --create-home sakuin && pip install --no-cache-dir "sakuin[local]==${VERSION#v}"
USER sakuin
WORKDIR /home/sakuin
ENTRYPOINT ["sakuin", "up"]
CMD ["/pages", "--data", "/home/sakuin/.sakuin"]
