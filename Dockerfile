# docker build -t lanista . && docker run --rm -v "$PWD/runs:/home/player/runs" lanista
# What `make demo` does: trains an agent for Beasty Bar and leaves its report in runs/.
FROM python:3.11-slim
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
COPY . /src
RUN pip install --no-cache-dir --constraint /src/requirements/torch.txt /src && rm -rf /src
RUN useradd --create-home player
USER player
WORKDIR /home/player
ENTRYPOINT ["lanista"]
CMD ["run", "beastybar-quick"]
