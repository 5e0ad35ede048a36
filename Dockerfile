# An image of PostgreSQL with blogstore: docker build -t blogstore .
# test/dockerfile runs the build steps in a bare Debian, without an image.
ARG PG_MAJOR=17
FROM postgres:${PG_MAJOR} AS build
COPY . /source
RUN apt-get update && apt-get install -y --no-install-recommends make gcc libc6-dev libkrb5-dev postgresql-server-dev-$PG_MAJOR
RUN make -C /source -j"$(nproc)" with_llvm=no && make -C /source with_llvm=no install DESTDIR=/installed

FROM postgres:${PG_MAJOR}
COPY --from=build /installed /
CMD ["postgres", "-c", "shared_preload_libraries=blogstore", "-c", "wal_level=logical"]
