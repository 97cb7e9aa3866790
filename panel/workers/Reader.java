import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.zip.GZIPInputStream;
import java.util.zip.InflaterInputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipInputStream;

/** What java.util.zip gets out of files: as reader.py. */
public final class Reader {
    private static final int LARGEST = 1 << 24;

    public static void main(String[] arguments) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split("\t");
            Path path = Path.of(parts[0]);
            Path folder = Path.of(parts[1]);
            byte[] data = Files.readAllBytes(path);
            ignoringFaults(() -> readZipFile(path, folder));
            ignoringFaults(() -> readZipStream(data, folder));
            ignoringFaults(() -> put(folder, "java GZIPInputStream", 0, pieces(new GZIPInputStream(in(data)))));
            ignoringFaults(() -> put(folder, "java InflaterInputStream", 0, pieces(new InflaterInputStream(in(data)))));
            System.out.println("done");
        }
    }

    private interface Step {
        void run() throws IOException;
    }

    private static void ignoringFaults(Step step) {
        try {
            step.run();
        } catch (IOException | RuntimeException | Error problem) {
            // What came out counts.
        }
    }

    private static InputStream in(byte[] data) {
        return new ByteArrayInputStream(data);
    }

    private static void readZipFile(Path path, Path folder) throws IOException {
        try (ZipFile archive = new ZipFile(path.toFile())) {
            int count = 0;
            for (ZipEntry entry : Collections.list(archive.entries())) {
                int number = count++;
                ignoringFaults(() -> put(folder, "java ZipFile", number, pieces(archive.getInputStream(entry))));
            }
        }
    }

    private static void readZipStream(byte[] data, Path folder) throws IOException {
        try (ZipInputStream archive = new ZipInputStream(in(data))) {
            for (int count = 0; archive.getNextEntry() != null && count < 200; count++) {
                put(folder, "java ZipInputStream", count, pieces(archive));
            }
        }
    }

    private static byte[] pieces(InputStream source) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        byte[] piece = new byte[61];
        try {
            for (int read = source.read(piece); read >= 0 && all.size() < LARGEST; read = source.read(piece)) {
                all.write(piece, 0, read);
            }
        } catch (IOException | RuntimeException problem) {
            // What came out counts.
        }
        return all.toByteArray();
    }

    private static void put(Path folder, String name, int count, byte[] content) throws IOException {
        if (content.length > 0) {
            Files.write(folder.resolve(name + "~" + count), content);
        }
    }
}
