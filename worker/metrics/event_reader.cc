#include "worker/metrics/event_reader.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <bit>
#include <boost/crc.hpp>
#include <cstring>
#include <optional>

namespace winnow {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr uint64_t kMostRecordBytes = 4 << 20;
constexpr size_t kHeaderBytes = 12;
constexpr size_t kFooterBytes = 4;

// tensorflow::DataType
constexpr uint32_t kFloat = 1, kDouble = 2, kInt32 = 3, kInt64 = 9;

uint32_t MaskedCrc(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  const uint32_t value = crc.checksum();
  return ((value >> 15) | (value << 17)) + 0xa282ead8U;
}

template <typename T>
T Little(const char* bytes) {
  static_assert(std::endian::native == std::endian::little);
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

bool ReadBytes(CodedInputStream& in, std::string& bytes) {
  uint32_t size = 0;
  return in.ReadVarint32(&size) && size <= kMostRecordBytes && in.ReadString(&bytes, static_cast<int>(size));
}

CodedInputStream Open(const std::string& bytes) {
  return CodedInputStream(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
}

// The element of a tensor that has one; absent: it has more, or another type.
std::optional<double> ElementOf(uint32_t type, const std::string& content) {
  if (type == kFloat && content.size() == 4) return Little<float>(content.data());
  if (type == kDouble && content.size() == 8) return Little<double>(content.data());
  if (type == kInt32 && content.size() == 4) return Little<int32_t>(content.data());
  if (type == kInt64 && content.size() == 8) return static_cast<double>(Little<int64_t>(content.data()));
  return std::nullopt;
}

std::optional<double> ScalarOf(const std::string& tensor) {
  CodedInputStream in = Open(tensor);
  uint32_t type = 0;
  std::optional<std::string> content;
  std::optional<double> element;
  while (const uint32_t tag = in.ReadTag()) {
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    const auto wire = WireFormatLite::GetTagWireType(tag);
    std::string bytes;
    uint64_t number = 0;
    if (field == 1 && wire == WireFormatLite::WIRETYPE_VARINT) {
      if (!in.ReadVarint32(&type)) return std::nullopt;
    } else if (wire == WireFormatLite::WIRETYPE_LENGTH_DELIMITED && field >= 4 && field <= 10) {
      if (!ReadBytes(in, bytes)) return std::nullopt;
      CodedInputStream packed = Open(bytes);
      if (field == 4) {
        content = std::move(bytes);
      } else if (field == 5) {
        element = ElementOf(kFloat, bytes);
      } else if (field == 6) {
        element = ElementOf(kDouble, bytes);
      } else if ((field == 7 || field == 10) && packed.ReadVarint64(&number) &&
                 packed.BytesUntilLimit() <= 0) {
        element = static_cast<double>(static_cast<int64_t>(number));
      }
    } else if (field == 5 && wire == WireFormatLite::WIRETYPE_FIXED32) {
      uint32_t bits = 0;
      if (!in.ReadLittleEndian32(&bits)) return std::nullopt;
      element = std::bit_cast<float>(bits);
    } else if (field == 6 && wire == WireFormatLite::WIRETYPE_FIXED64) {
      if (!in.ReadLittleEndian64(&number)) return std::nullopt;
      element = std::bit_cast<double>(number);
    } else if ((field == 7 || field == 10) && wire == WireFormatLite::WIRETYPE_VARINT) {
      if (!in.ReadVarint64(&number)) return std::nullopt;
      element = static_cast<double>(static_cast<int64_t>(number));
    } else if (!WireFormatLite::SkipField(&in, tag)) {
      return std::nullopt;
    }
  }
  if (!in.ConsumedEntireMessage()) return std::nullopt;
  return content && !content->empty() ? ElementOf(type, *content) : element;
}

// Adds a Summary.Value, if it is a scalar.
void AddValue(const std::string& value, MetricRecord& record) {
  CodedInputStream in = Open(value);
  std::string tag_name;
  std::optional<double> number;
  while (const uint32_t tag = in.ReadTag()) {
    const int field = WireFormatLite::GetTagFieldNumber(tag);
    const auto wire = WireFormatLite::GetTagWireType(tag);
    if (field == 1 && wire == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      if (!ReadBytes(in, tag_name)) return;
    } else if (field == 2 && wire == WireFormatLite::WIRETYPE_FIXED32) {
      uint32_t bits = 0;
      if (!in.ReadLittleEndian32(&bits)) return;
      number = std::bit_cast<float>(bits);
    } else if (field == 8 && wire == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      std::string tensor;
      if (!ReadBytes(in, tensor)) return;
      number = ScalarOf(tensor);
    } else if (!WireFormatLite::SkipField(&in, tag)) {
      return;
    }
  }
  if (number && !tag_name.empty()) record.values.emplace_back(std::move(tag_name), *number);
}

void AddSummary(const std::string& summary, MetricRecord& record) {
  CodedInputStream in = Open(summary);
  while (const uint32_t tag = in.ReadTag()) {
    std::string value;
    if (tag == WireFormatLite::MakeTag(1, WireFormatLite::WIRETYPE_LENGTH_DELIMITED)) {
      if (!ReadBytes(in, value)) return;
      AddValue(value, record);
    } else if (!WireFormatLite::SkipField(&in, tag)) {
      return;
    }
  }
}

MetricRecord RecordOf(const std::string& event) {
  MetricRecord record;
  int64_t step = 0;
  CodedInputStream in = Open(event);
  while (const uint32_t tag = in.ReadTag()) {
    uint64_t number = 0;
    std::string summary;
    if (tag == WireFormatLite::MakeTag(2, WireFormatLite::WIRETYPE_VARINT)) {
      if (!in.ReadVarint64(&number)) break;
      step = static_cast<int64_t>(number);
    } else if (tag == WireFormatLite::MakeTag(5, WireFormatLite::WIRETYPE_LENGTH_DELIMITED)) {
      if (!ReadBytes(in, summary)) break;
      AddSummary(summary, record);
    } else if (!WireFormatLite::SkipField(&in, tag)) {
      break;
    }
  }
  // Before the tags, one of which may have the same name.
  if (!record.values.empty())
    record.values.insert(record.values.begin(), {"step", static_cast<double>(step)});
  return record;
}

}  // namespace

absl::Status EventReader::Add(std::string_view bytes, const Take& take) {
  while (error_.ok() && !bytes.empty()) {
    if (skip_ > 0) {
      const size_t skipped = std::min<uint64_t>(skip_, bytes.size());
      skip_ -= skipped;
      bytes.remove_prefix(skipped);
      continue;
    }
    const auto fill = [&](size_t size) {  // whether kept_ has that many bytes now
      const size_t more = std::min(bytes.size(), size - std::min(size, kept_.size()));
      kept_ += bytes.substr(0, more);
      bytes.remove_prefix(more);
      return kept_.size() >= size;
    };
    if (!fill(kHeaderBytes)) break;
    const uint64_t size = Little<uint64_t>(kept_.data());
    if (MaskedCrc(std::string_view(kept_).substr(0, 8)) != Little<uint32_t>(kept_.data() + 8)) {
      error_ = absl::DataLossError("it is not a TensorBoard event file, or it is damaged");
    } else if (size > kMostRecordBytes) {
      kept_.clear();
      // A length with a right checksum that no file can have ends the reading too: nothing comes after it.
      skip_ = std::min<uint64_t>(size, UINT64_MAX - kFooterBytes) + kFooterBytes;
    } else if (fill(kHeaderBytes + size + kFooterBytes)) {
      const std::string event = kept_.substr(kHeaderBytes, size);
      const auto crc = Little<uint32_t>(kept_.data() + kHeaderBytes + size);
      kept_.clear();
      if (MaskedCrc(event) != crc) {
        error_ = absl::DataLossError("a record of the event file is damaged");
      } else if (const MetricRecord record = RecordOf(event); !record.values.empty()) {
        take(record);
      }
    }
  }
  return error_;
}

}  // namespace winnow
