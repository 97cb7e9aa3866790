# What Ruby's own libraries get out of files: as reader.py. Not Gem::Package::TarReader: it checks neither magic nor checksum nor
# numbers, so that any bytes at all are a tar to it.
require "stringio"
require "zlib"

LARGEST = 2**24

def put(folder, name, count, content)
  File.binwrite("#{folder}/#{name}~#{count}", content) unless content.nil? || content.empty?
end

def pieces(source)
  all = String.new(encoding: Encoding::BINARY)
  while all.bytesize < LARGEST && (piece = source.read(61)) && !piece.empty?
    all << piece
  end
  all
rescue StandardError
  all
end

def inflated(data)
  inflater = Zlib::Inflate.new
  all = String.new(encoding: Encoding::BINARY)
  data.bytes.each_slice(61) { |slice| all << inflater.inflate(slice.pack("C*")) }
  all
rescue StandardError
  all
end

READERS = {
  "ruby GzipReader" => ->(data) { [pieces(Zlib::GzipReader.new(StringIO.new(data)))] },
  "ruby Zlib::Inflate" => ->(data) { [inflated(data.byteslice(0, 2**20))] },
}.freeze

$stdout.sync = true
while (line = $stdin.gets)
  path, folder = line.chomp.split("\t")
  data = File.binread(path)
  READERS.each do |name, read|
    read.call(data).each_with_index { |content, count| put(folder, name, count, content) }
  rescue StandardError
    next
  end
  puts "done"
end
