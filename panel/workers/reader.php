<?php
// What PHP gets out of files: as reader.py.
error_reporting(0);
const LARGEST = 2 ** 24;

function put(string $folder, string $name, int $count, mixed $content): void
{
    if (is_string($content) && $content !== '') {
        file_put_contents("$folder/$name~$count", $content);
    }
}

function pieces(mixed $source): string
{
    $all = '';
    while ($source && strlen($all) < LARGEST) {
        $piece = fread($source, 61);
        if ($piece === false || $piece === '') {
            break;
        }
        $all .= $piece;
    }
    return $all;
}

function inflated(string $data, int $encoding): string
{
    $inflater = inflate_init($encoding);
    $all = '';
    foreach (str_split($data, 61) as $piece) {
        $some = inflate_add($inflater, $piece);
        if ($some === false) {
            break;
        }
        $all .= $some;
    }
    return $all;
}

function readZip(string $path, string $folder): void
{
    if (!class_exists('ZipArchive')) {
        return;
    }
    $archive = new ZipArchive();
    if ($archive->open($path) !== true) {
        return;
    }
    for ($at = 0; $at < min($archive->numFiles, 200); $at++) {
        put($folder, 'php ZipArchive', $at, pieces($archive->getStreamIndex($at)));
    }
}

while (($line = fgets(STDIN)) !== false) {
    [$path, $folder] = explode("\t", rtrim($line, "\n"));
    try {
        $data = file_get_contents($path);
        put($folder, 'php gzopen', 0, pieces(gzopen($path, 'rb')));
        put($folder, 'php inflate, gzip', 0, inflated($data, ZLIB_ENCODING_GZIP));
        put($folder, 'php inflate, zlib', 0, inflated($data, ZLIB_ENCODING_DEFLATE));
        readZip($path, $folder);
    } catch (Throwable) {
        // What came out counts.
    }
    echo "done\n";
}
