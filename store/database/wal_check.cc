#include "store/database/wal_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "store/database/foreign_file.h"

namespace winnow {
namespace {

// https://www.sqlite.org/fileformat2.html#walformat and https://www.sqlite.org/walformat.html: the log is a
// header and frames, each with its own header and a page; numbers are big-endian. The index begins with two
// copies of a header, in the machine's byte order.
constexpr int64_t kLogHeaderBytes = 32;
constexpr int64_t kFrameHeaderBytes = 24;
constexpr uint32_t kLogMagic = 0x377f0682;  // its last bit: checksums of big-endian words
constexpr int64_t kIndexHeaderBytes = 48;

using Bytes = std::span<const unsigned char>;
// Instead of a frame's index: none, and the log's header.
constexpr int64_t kNone = -1;
constexpr int64_t kHeader = -2;

using Pair = std::array<uint32_t, 2>;  // salts, or a checksum

uint32_t Big(Bytes bytes, size_t at) {
  return uint32_t{bytes[at]} << 24 | uint32_t{bytes[at + 1]} << 16 | uint32_t{bytes[at + 2]} << 8 |
         bytes[at + 3];
}

uint32_t Little(Bytes bytes, size_t at) {
  return uint32_t{bytes[at + 3]} << 24 | uint32_t{bytes[at + 2]} << 16 | uint32_t{bytes[at + 1]} << 8 |
         bytes[at];
}

uint32_t Native(Bytes bytes, size_t at) {
  uint32_t word = 0;
  memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

// SQLite's checksum of whole pairs of words, continuing from `sum`.
Pair Sum(Bytes bytes, bool big, Pair sum) {
  for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    sum[0] += (big ? Big(bytes, at) : Little(bytes, at)) + sum[1];
    sum[1] += (big ? Big(bytes, at + 4) : Little(bytes, at + 4)) + sum[0];
  }
  return sum;
}

bool IsPageSize(uint32_t bytes) { return bytes >= 512 && bytes <= 65536 && (bytes & (bytes - 1)) == 0; }

// Reads as many bytes as there are.
std::vector<unsigned char> ReadAt(int fd, int64_t offset, size_t size) {
  std::vector<unsigned char> bytes(size);
  const ssize_t got = pread(fd, bytes.data(), size, offset);
  bytes.resize(got > 0 ? got : 0);
  return bytes;
}

OwnedDescriptor OpenToRead(const std::string& file) {
  return OwnedDescriptor(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

// The index's information: it is written after the frames of a transaction are on disk.
struct Known {
  int64_t frames = 0;
  Pair salts{};
};

std::optional<Known> ReadIndex(const std::string& file) {
  const OwnedDescriptor index = OpenToRead(file + "-shm");
  if (!index.ok()) return std::nullopt;
  const std::vector<unsigned char> both = ReadAt(index.get(), 0, 2 * kIndexHeaderBytes);
  if (both.size() != 2 * kIndexHeaderBytes) return std::nullopt;
  const Bytes one = Bytes(both).first(kIndexHeaderBytes);
  if (memcmp(one.data(), both.data() + kIndexHeaderBytes, kIndexHeaderBytes) != 0) return std::nullopt;
  constexpr uint16_t kOne = 1;
  unsigned char first = 0;
  memcpy(&first, &kOne, 1);
  const Pair sum = Sum(one.first(40), first == 0, {});
  if (sum != Pair{Native(one, 40), Native(one, 44)}) return std::nullopt;
  // Salts are stored as in the log.
  return Known{Native(one, 16), {Big(one, 32), Big(one, 36)}};
}

struct Look {
  int64_t good = 0;     // frames up to the end of the last complete transaction
  int64_t frames = 0;   // frames that belong together according to their headers
  int64_t bad = kNone;  // the first that does not verify
  Pair salts{};
  bool damaged = false;
};

class Log {
 public:
  Log(int fd, int64_t bytes, uint32_t page_bytes) : fd_(fd), bytes_(bytes) {
    header_ = ReadAt(fd_, 0, kLogHeaderBytes);
    if (header_.size() != kLogHeaderBytes) return;
    big_ = (Big(header_, 0) & 1) != 0;
    page_bytes_ = Big(header_, 8) == 1 ? 65536 : Big(header_, 8);
    sum_ = Sum(Bytes(header_).first(24), big_, {});
    whole_ = (Big(header_, 0) & ~1u) == kLogMagic && IsPageSize(page_bytes_) &&
             sum_ == Pair{Big(header_, 24), Big(header_, 28)};
    salts_ = {Big(header_, 16), Big(header_, 20)};
    if (whole_) return;
    // Replaces what a damaged header lacks by the frames' information.
    page_bytes_ = page_bytes;
    const std::vector<unsigned char> frame = ReadAt(fd_, kLogHeaderBytes, kFrameHeaderBytes);
    if (frame.size() == kFrameHeaderBytes) salts_ = {Big(frame, 8), Big(frame, 12)};
  }

  Look Run(const std::optional<Known>& known) {
    Look look;
    look.salts = salts_;
    if (header_.size() != kLogHeaderBytes || !IsPageSize(page_bytes_)) return look;
    if (!whole_) look.bad = kHeader;
    bool ended = false;       // a transaction, at or after the first frame that does not verify
    bool began_anew = false;  // another one has begun after that
    for (int64_t i = 0; (i + 1) * frame_bytes() + kLogHeaderBytes <= bytes_; ++i) {
      const std::vector<unsigned char> frame =
          ReadAt(fd_, kLogHeaderBytes + i * frame_bytes(), frame_bytes());
      if (static_cast<int64_t>(frame.size()) != frame_bytes()) break;
      const bool ours = Pair{Big(frame, 8), Big(frame, 12)} == salts_ && Big(frame, 0) != 0;
      const bool ends_transaction = Big(frame, 4) != 0;
      if (look.bad == kNone && !Verify(frame, ours)) look.bad = i;
      if (look.bad == kNone && ends_transaction) look.good = i + 1;
      if (!ours) continue;  // of an earlier use of the file, or never written
      look.frames = i + 1;
      if (look.bad == kNone) continue;
      began_anew = began_anew || ended;
      ended = ended || ends_transaction;
    }
    const bool knows_more = known && known->salts == salts_ && known->frames > look.good;
    look.damaged = knows_more || began_anew;
    if (knows_more) look.frames = std::max(look.frames, known->frames);
    return look;
  }

 private:
  int64_t frame_bytes() const { return kFrameHeaderBytes + page_bytes_; }
  bool Verify(Bytes frame, bool ours) {
    if (!ours) return false;
    sum_ = Sum(frame.subspan(kFrameHeaderBytes), big_, Sum(frame.first(8), big_, sum_));
    return sum_ == Pair{Big(frame, 16), Big(frame, 20)};
  }

  const int fd_;
  const int64_t bytes_;
  std::vector<unsigned char> header_;
  bool whole_ = false;  // the header verifies
  bool big_ = false;
  uint32_t page_bytes_ = 0;
  Pair salts_{};
  Pair sum_{};
};

// Returns the database's page size, which the log's header should repeat.
uint32_t PageBytes(const std::string& file) {
  constexpr size_t kAt = 16;
  constexpr uint32_t kUsual = 4096;
  const OwnedDescriptor database = OpenToRead(file);
  const std::vector<unsigned char> header = ReadAt(database.get(), kAt, 2);
  if (header.size() != 2) return kUsual;
  const uint32_t bytes = uint32_t{header[0]} << 8 | header[1];
  return bytes == 1 ? 65536 : IsPageSize(bytes) ? bytes : kUsual;
}

std::optional<Look> LookAtLog(const std::string& file) {
  const std::optional<Known> known = ReadIndex(file);  // first: a server may be adding frames
  const OwnedDescriptor log = OpenToRead(file + "-wal");
  struct stat stat {};
  if (!log.ok() || fstat(log.get(), &stat) != 0 || !S_ISREG(stat.st_mode)) return std::nullopt;
  return Log(log.get(), stat.st_size, PageBytes(file)).Run(known);
}

}  // namespace

absl::Status CheckLog(const std::string& file) {
  std::optional<Look> look = LookAtLog(file);
  // A server may have been writing a frame, or have restarted the log: then the next look differs.
  for (std::optional<Look> before; look && look->damaged; look = LookAtLog(file)) {
    if (before && before->bad == look->bad && before->salts == look->salts) break;
    before = look;
  }
  if (!look || !look->damaged) return absl::OkStatus();
  const std::string where = look->bad == kHeader ? "in its header"
                            : look->bad == kNone ? fmt::format("after frame {}, where it ends,", look->good)
                                                 : fmt::format("in frame {}", look->bad + 1);
  return absl::DataLossError(fmt::format(
      "{0}-wal: the log is damaged {1} of {2} frames, and records after that would be lost; restore a "
      "backup; or, to go on without these records, save copies of {0}, {0}-wal and {0}-shm and start once "
      "with --accept-log-damage",
      file, where, look->frames));
}

}  // namespace winnow
