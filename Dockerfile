# docker build -t lanista . && docker run --rm -v "$PWD/runs:/home/player/runs" lanista
# What `make demo` does: trains an agent for Beasty Bar and leaves its report in runs/.
# For machines of a cluster on Kubernetes see docs/guides/cluster.md, which gives both arguments.
FROM python:3.11-slim
ARG EXTRAS=""
ARG PACKAGES=""
# Operators of Ray on Kubernetes ask with wget whether a machine is well.
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev wget \
    && rm -rf /var/lib/apt/lists/*
COPY . /src
RUN pip install --no-cache-dir --constraint /src/requirements/torch.txt "/src${EXTRAS}" ${PACKAGES} \
    && rm -rf /src
RUN useradd --create-home player
USER player
WORKDIR /home/player
ENTRYPOINT ["lanista"]
CMD ["run", "beastybar-quick"]
