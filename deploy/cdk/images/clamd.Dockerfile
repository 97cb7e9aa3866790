# clamd beside the service in a task. From the root of the project:
#   docker build -f deploy/cdk/images/clamd.Dockerfile -t lazaret:TAG-clamd .
ARG CLAMAV=1.4.6
FROM clamav/clamav:${CLAMAV}
COPY deploy/clamd.conf deploy/cdk/images/sidecar.sed deploy/cdk/images/freshclam.conf /etc/lazaret/
COPY --chmod=755 deploy/cdk/images/start-clamd.sh /usr/local/bin/start-clamd
RUN sed -i -f /etc/lazaret/sidecar.sed /etc/lazaret/clamd.conf \
 && mkdir -p /var/lib/clamav-tmp \
 && chown clamav:clamav /var/lib/clamav /var/lib/clamav-tmp
USER clamav
# Volumes that are mounted there take over owner and contents.
VOLUME ["/var/lib/clamav", "/var/lib/clamav-tmp"]
ENTRYPOINT ["/usr/local/bin/start-clamd"]
