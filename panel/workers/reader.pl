# What Perl's modules get out of files: as reader.py. Modules that are not there are left out.
use strict;
use warnings;

$| = 1;
my $LARGEST = 2**24;
my %there = map { my $name = $_; ($name => eval "require $name; 1") }
    qw(Archive::Zip Archive::Tar IO::Uncompress::AnyUncompress IO::Uncompress::Unzip MIME::Parser);
Archive::Zip::setErrorHandler(sub { }) if $there{'Archive::Zip'};
$Archive::Tar::WARN = $Archive::Tar::WARN = 0;

sub put {
    my ($folder, $name, $count, $content) = @_;
    return unless defined $content && length $content;
    open(my $target, '>:raw', "$folder/$name~$count") or return;
    print $target $content;
    close $target;
}

# Reads in small pieces until the end, a limit or an error.
sub pieces {
    my ($source) = @_;
    my $all = '';
    while (length $all < $LARGEST) {
        my $piece = '';
        my $read = $source->read($piece, 61);
        $all .= $piece if defined $piece;
        last if !defined $read || $read <= 0;
    }
    return $all;
}

my %readers = (
    'Archive::Zip' => sub {
        my ($path, $folder) = @_;
        my $archive = Archive::Zip->new();
        $archive->read($path);
        my $count = 0;
        put($folder, 'perl Archive::Zip', $count++, scalar eval { ($_->contents())[0] }) for $archive->members();
    },
    'Archive::Tar' => sub {
        my ($path, $folder) = @_;
        my $archive = Archive::Tar->new();
        $archive->read($path);
        my $count = 0;
        put($folder, 'perl Archive::Tar', $count++, $_->get_content()) for $archive->get_files();
    },
    'IO::Uncompress::AnyUncompress' => sub {
        my ($path, $folder) = @_;
        my $source = IO::Uncompress::AnyUncompress->new($path, MultiStream => 1) or return;
        put($folder, 'perl AnyUncompress', 0, pieces($source));
    },
    'IO::Uncompress::Unzip' => sub {
        my ($path, $folder) = @_;
        my $source = IO::Uncompress::Unzip->new($path) or return;
        my ($count, $more) = (0, 1);
        while ($count < 200 && $more > 0) {
            put($folder, 'perl IO::Uncompress::Unzip', $count++, pieces($source));
            $more = $source->nextStream();
        }
    },
    'MIME::Parser' => sub {
        my ($path, $folder) = @_;
        return if -s $path > 2**20;
        my $parser = MIME::Parser->new();
        $parser->output_to_core(1);
        $parser->tmp_to_core(1);
        $parser->extract_uuencode(1);
        my $count = 0;
        my @parts = ($parser->parse_open($path));
        while (my $part = shift @parts) {
            push @parts, $part->parts();
            put($folder, 'perl MIME::Parser', $count++, $part->bodyhandle()->as_string()) if $part->bodyhandle();
        }
    },
);

while (my $line = <STDIN>) {
    chomp $line;
    my ($path, $folder) = split /\t/, $line;
    for my $name (grep { $there{$_} } sort keys %readers) {
        local $SIG{__WARN__} = sub { };
        eval { $readers{$name}->($path, $folder) };
    }
    print "done\n";
}
