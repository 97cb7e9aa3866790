# Makes deploy/clamd.conf into that of a clamd which shares nothing with the service but the loopback interface of a task.
# No socket file, for there is no volume to put it on; no change of user, for the container starts as clamav.
/^LocalSocket/d
/^FixStaleSocket /d
/^User /d
# Both of the service's lines at once: 16 requests and 16 jobs, with engine P on two vCPUs.
s/^MaxThreads .*/MaxThreads 32/
$a\
TCPSocket 3310\
TCPAddr 127.0.0.1
