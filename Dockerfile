# The image of operator and webhook.
#
# BASE is any image with python3 (3.11 or newer), its venv module and CA certificates; both stages
# use the same, so that the virtual environment finds its interpreter again.
# PIP_OPTIONS is for builds without the package index, such as "--no-index --find-links=/wheels".
ARG BASE=python:3.11-slim-bookworm

FROM ${BASE} AS builder
ARG PIP_OPTIONS=""
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
RUN python3 -m venv /build && python3 -m venv /opt/kubewhy
COPY requirements/build.txt requirements/runtime.txt requirements/
# Only wheels: a source package would run its own code here. Only the pinned hashes.
RUN /build/bin/pip install ${PIP_OPTIONS} --require-hashes --only-binary :all: -r requirements/build.txt \
    && /opt/kubewhy/bin/pip install ${PIP_OPTIONS} --require-hashes --only-binary :all: -r requirements/runtime.txt
COPY pyproject.toml README.md LICENSE ./
COPY crds crds
COPY toolsets toolsets
COPY deploy/base deploy/base
COPY operator operator
# The modules are compiled now, because the root file system is read-only later; pip stays behind.
RUN /build/bin/python -m hatchling build -t wheel -d /dist \
    && /opt/kubewhy/bin/pip install --no-index --no-deps /dist/*.whl \
    && /opt/kubewhy/bin/pip uninstall --yes --quiet pip setuptools \
    && /opt/kubewhy/bin/python -m compileall -q -j 0 /opt/kubewhy/lib

FROM ${BASE}
LABEL org.opencontainers.image.title="kubewhy" \
      org.opencontainers.image.description="Finds out why an alert fires, inside the cluster" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=builder /opt/kubewhy /opt/kubewhy
# LITELLM_LOCAL_MODEL_COST_MAP: without it, importing litellm fetches a price map from the internet.
ENV PATH=/opt/kubewhy/bin:/usr/local/bin:/usr/bin:/bin \
    HOME=/tmp \
    LITELLM_LOCAL_MODEL_COST_MAP=True \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
WORKDIR /tmp
USER 65532:65532
ENTRYPOINT ["kubewhy"]
CMD ["--help"]
