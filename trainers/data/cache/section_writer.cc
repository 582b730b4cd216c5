#include "trainers/data/cache/section_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <utility>

#include "base/status_text.h"
#include "fmt/format.h"
#include "trainers/data/cache/byte_codec.h"
#include "trainers/data/cache/checksum.h"

namespace winnow {
namespace {

// Layout of a file: this header, sections at multiples of kPage, and at the end a table: the key, then name,
// offset, size and checksum of each section; texts with their length before them. Numbers are in the
// machine's own format: files are never moved to another machine.
struct EntryHeader {
  char magic[8] = {'W', 'I', 'N', 'N', 'O', 'W', 'C', '\n'};
  uint32_t version = 2;
  uint32_t sections = 0;
  uint64_t file_size = 0;
  uint64_t table_offset = 0;
  uint64_t checksum = 0;  // StableHash of the header, with 0 here, and the table
};
constexpr uint64_t kPage = 4096;
constexpr uint64_t kAligned = 64;  // promised by MappedFile

uint64_t RoundUp(uint64_t value) { return (value + kPage - 1) / kPage * kPage; }

uint64_t ChecksumOf(EntryHeader header, std::string_view table) {
  header.checksum = 0;
  std::string text(reinterpret_cast<const char*>(&header), sizeof header);
  return StableHash(text.append(table));
}

absl::Status WriteAt(const FileHandle& file, const std::string& path, uint64_t offset,
                     std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      return absl::ResourceExhaustedError(
          fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
    offset += static_cast<uint64_t>(written);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

// Errors as OpenMappedFile.
absl::StatusOr<MappedFile> MapEntry(FileHandle file, const std::string& path, std::string_view key) {
  ::flock(file.get(), LOCK_SH);  // in use; a process that removes it holds its lock only for a moment
  struct stat info {};
  EntryHeader header;
  const auto damaged = [&](std::string_view why) {
    return absl::DataLossError(fmt::format("{}: is no entry of the cache: {}", path, why));
  };
  if (::fstat(file.get(), &info) != 0 || static_cast<uint64_t>(info.st_size) < sizeof header)
    return damaged("it is too short");
  const auto size = static_cast<uint64_t>(info.st_size);
  absl::StatusOr<Mapping> mapping = Mapping::OfFile(file, 0, size, false);
  if (!mapping.ok()) return mapping.status();
  const std::string_view bytes(reinterpret_cast<const char*>(mapping->bytes().data()), size);
  std::memcpy(&header, bytes.data(), sizeof header);
  const EntryHeader expected;
  if (std::memcmp(header.magic, expected.magic, sizeof header.magic) != 0 ||
      header.version != expected.version)
    return damaged("it begins otherwise");
  if (header.file_size != size || header.table_offset > size) return damaged("its size is not what it says");
  ByteReader table(bytes.substr(header.table_offset));
  if (ChecksumOf(header, table.rest()) != header.checksum) return damaged("its checksum is not what it says");
  if (table.Text() != key) return damaged("it holds another key");
  std::map<std::string, std::span<const std::byte>, std::less<>> sections;
  for (uint32_t i = 0; i < header.sections; ++i) {
    const std::string_view name = table.Text();
    const uint64_t offset = table.Number(), section_size = table.Number();
    if (!table.ok() || offset > header.table_offset || section_size > header.table_offset - offset)
      return damaged("a section lies outside");
    if (offset % kAligned != 0) return damaged("a section is not aligned");
    const std::span<const std::byte> section = mapping->bytes().subspan(offset, section_size);
    if (table.Number() != ContentChecksum(section)) return damaged("a section is not what was written");
    sections.emplace(name, section);
  }
  ::futimens(file.get(), nullptr);  // marks it as used now
  std::vector<Mapping> mappings;
  mappings.push_back(*std::move(mapping));
  return MappedFile(std::move(file), std::move(mappings), std::move(sections));
}

}  // namespace

SectionWriter::SectionWriter(const CacheFolder* folder) : folder_(folder), end_(kPage) {
  if (folder == nullptr) return;
  absl::StatusOr<CacheFolder::Temporary> file = folder->MakeTemporary();
  if (file.ok())
    file_ = *std::move(file);
  else
    why_not_ = file.status();
}

SectionWriter::~SectionWriter() { GiveUpFile(absl::OkStatus()); }

void SectionWriter::GiveUpFile(const absl::Status& why) {
  if (!file_) return;
  why_not_ = why;
  ::unlink(file_->path.c_str());  // existing mappings stay valid
  file_.reset();
}

absl::StatusOr<Mapping> SectionWriter::AddToFile(uint64_t size, uint64_t* offset) {
  *offset = RoundUp(end_);
  if (absl::Status room = folder_->MakeRoom(*offset + size - end_); !room.ok()) return room;
  // Allocates now: a write through a mapping could not report a full disk.
  const uint64_t begin = mappings_.empty() ? 0 : end_;
  for (int error; (error = ::posix_fallocate(file_->file.get(), static_cast<off_t>(begin),
                                             static_cast<off_t>(*offset + size - begin))) != 0;) {
    if (error == EINTR || ((error == ENOSPC || error == EDQUOT) && folder_->RemoveOldest())) continue;
    return absl::ResourceExhaustedError(fmt::format("cache folder {}: no room for {} bytes: {}",
                                                    folder_->path(), size, std::strerror(error)));
  }
  end_ = *offset + size;
  return Mapping::OfFile(file_->file, *offset, size, true);
}

absl::StatusOr<std::span<std::byte>> SectionWriter::Add(std::string_view name, uint64_t size) {
  Section section{std::string(name), RoundUp(end_), {}};
  if (size > 0) {
    absl::StatusOr<Mapping> mapping = absl::UnavailableError("no file");
    if (file_) {
      mapping = AddToFile(size, &section.offset);
      if (!mapping.ok()) GiveUpFile(mapping.status());
    }
    if (!mapping.ok()) mapping = Mapping::OfMemory(size);
    if (!mapping.ok()) return mapping.status();
    section.bytes = mapping->bytes();
    mappings_.push_back(*std::move(mapping));
  }
  sections_.push_back(std::move(section));
  return sections_.back().bytes;
}

absl::Status SectionWriter::AddCopy(std::string_view name, std::span<const std::byte> content) {
  const absl::StatusOr<std::span<std::byte>> bytes = Add(name, content.size());
  if (!bytes.ok()) return bytes.status();
  if (!content.empty()) std::memcpy(bytes->data(), content.data(), content.size());
  return absl::OkStatus();
}

absl::Status SectionWriter::Publish(const std::string& path, std::string_view key) {
  ByteWriter writer;
  writer.Text(key);
  for (const Section& section : sections_) {
    writer.Text(section.name);
    writer.Number(section.offset);
    writer.Number(section.bytes.size());
    writer.Number(ContentChecksum(section.bytes));
  }
  const std::string& table = writer.bytes();
  EntryHeader header;
  header.sections = static_cast<uint32_t>(sections_.size());
  header.table_offset = RoundUp(end_);
  header.file_size = header.table_offset + table.size();
  header.checksum = ChecksumOf(header, table);
  absl::Status status = WriteAt(file_->file, file_->path, header.table_offset, table);
  if (status.ok()) {
    status = WriteAt(file_->file, file_->path, 0, {reinterpret_cast<const char*>(&header), sizeof header});
  }
  if (!status.ok()) return status;
  // An entry is valid only until the host restarts, and until then the system holds what was written. If a
  // restart cannot be detected, the entry must be on the disk.
  const bool safe = !folder_->boot_id().empty() || ::fdatasync(file_->file.get()) == 0;
  if (!safe || ::rename(file_->path.c_str(), path.c_str()) != 0)
    return absl::UnavailableError(fmt::format("{}: cannot be kept: {}", path, std::strerror(errno)));
  return absl::OkStatus();
}

absl::StatusOr<MappedFile> SectionWriter::Finish(const std::string& path, std::string_view key,
                                                 std::string* why_not) && {
  if (file_) {
    const absl::Status status = Publish(path, key);
    if (status.ok()) {
      // not opened by its name, because it may have been removed by now
      FileHandle file = std::move(file_->file);
      file_.reset();
      mappings_.clear();
      return MapEntry(std::move(file), path, key);
    }
    GiveUpFile(status);
  }
  *why_not = MessageOf(why_not_);
  std::map<std::string, std::span<const std::byte>, std::less<>> sections;
  for (const Section& section : sections_) sections.emplace(section.name, section.bytes);
  return MappedFile(FileHandle(), std::move(mappings_), std::move(sections));
}

absl::StatusOr<MappedFile> OpenMappedFile(const std::string& path, std::string_view key) {
  FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return absl::NotFoundError(path + ": cannot be opened");
  return MapEntry(std::move(file), path, key);
}

}  // namespace winnow
