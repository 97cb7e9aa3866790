# Makes deploy/clamd.conf into that of a clamd which shares nothing with the service but the loopback interface of a task.
# No socket file, for there is no volume to put it on; no change of user, for the container starts as clamav.
/^LocalSocket/d
/^FixStaleSocket /d
/^User /d
# A volume of its own, apart from the signatures'.
s#^TemporaryDirectory .*#TemporaryDirectory /var/lib/clamav-tmp#
$a\
TCPSocket 3310\
TCPAddr 127.0.0.1
