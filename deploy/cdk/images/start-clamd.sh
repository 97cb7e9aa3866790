#!/bin/sh
# Fetches signatures, goes on fetching them, and runs clamd. SIGNATURE_MIRROR: an address, or - for the servers of ClamAV.
set -eu
settings=/var/lib/clamav-tmp/freshclam.conf
cp /etc/lazaret/freshclam.conf "$settings"
if [ "${SIGNATURE_MIRROR:--}" = - ]; then
  printf 'DatabaseMirror database.clamav.net\n' >> "$settings"
else
  # Whole databases only: nobody fills a mirror with the differences between them.
  printf 'PrivateMirror %s\nScriptedUpdates no\n' "$SIGNATURE_MIRROR" >> "$settings"
fi
# A minute and no more: ECS gives a task three to start. With the signatures of the image clamd starts too, and their
# age is reported until the newer ones are there.
timeout 60 freshclam --config-file="$settings" --stdout || echo "no new signatures yet: starting with those of the image" >&2
freshclam --config-file="$settings" --stdout --daemon --foreground &
exec clamd --config-file=/etc/lazaret/clamd.conf
