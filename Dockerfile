# tg with its backend C, from this checkout: docker build -t tg . && docker run --rm tg demo --help
FROM python:3.12-slim
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY constraints.txt ./
COPY core core
COPY native native
COPY plugins/tg-c plugins/tg-c
RUN pip install --no-cache-dir --constraint constraints.txt ./core ./native ./plugins/tg-c
RUN useradd --create-home tg
USER tg
WORKDIR /home/tg
ENTRYPOINT ["tg"]
CMD ["doctor"]
