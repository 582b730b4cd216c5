#include "trainers/mlp/model/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

namespace winnow::mlp {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kLength = 8;  // bytes of the header's length; also the header's alignment

absl::Status WrongTensors(const std::string& what) { return absl::InvalidArgumentError(what); }

// Parses a JSON object and requires unique names, also in nested objects.
absl::StatusOr<OrderedJson> ParseHeader(std::string_view header) {
  std::vector<std::set<std::string>> names;  // of the open objects
  std::string twice;
  const auto look = [&](int /*depth*/, OrderedJson::parse_event_t event, OrderedJson& value) {
    if (event == OrderedJson::parse_event_t::object_start) names.emplace_back();
    if (event == OrderedJson::parse_event_t::object_end) names.pop_back();
    if (event == OrderedJson::parse_event_t::key && !names.back().insert(value.get<std::string>()).second)
      twice = value.get<std::string>();
    return true;
  };
  OrderedJson json;
  try {
    json = OrderedJson::parse(header, look);
  } catch (const OrderedJson::exception& error) {
    return WrongTensors(fmt::format("the header is not JSON: {}", error.what()));
  }
  if (!json.is_object()) return WrongTensors("the header is not a JSON object");
  if (!twice.empty()) return WrongTensors(fmt::format("the header has \"{}\" twice", twice));
  return json;
}

// Non-negative whole numbers; nullopt for anything else.
std::optional<std::vector<int64_t>> WholeNumbers(const OrderedJson& entry, const char* name) {
  const auto list = entry.find(name);
  if (list == entry.end() || !list->is_array()) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const OrderedJson& item : *list) {
    if (!item.is_number_unsigned() || item.get<uint64_t>() > INT64_MAX) return std::nullopt;
    numbers.push_back(item.get<int64_t>());
  }
  return numbers;
}

// Returns the bytes of a tensor with this shape; for larger ones any value above `limit`.
int64_t BytesOf(const std::vector<int64_t>& shape, int64_t limit) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  int64_t bytes = sizeof(float);
  for (int64_t size : shape) {
    if (size > limit / bytes) return limit + 1;
    bytes *= size;
  }
  return bytes;
}

struct Place {
  int64_t begin, end;
  std::string name;
};

// Returns the tensor's place in `data`; sets *tensor's shape and bytes.
absl::StatusOr<Place> ParseTensor(const std::string& name, const OrderedJson& entry, std::string_view data,
                                  TensorView* tensor) {
  const auto wrong = [&](const std::string& what) {
    return WrongTensors(fmt::format("tensor \"{}\": {}", name, what));
  };
  if (!entry.is_object()) return wrong("expected an object with dtype, shape and data_offsets");
  const auto type = entry.find("dtype");
  if (type == entry.end() || *type != "F32")
    return wrong(
        fmt::format("dtype {}: expected \"F32\"", type == entry.end() ? "is missing" : type->dump()));
  const auto shape = WholeNumbers(entry, "shape");
  if (!shape) return wrong("shape: expected a list of whole numbers");
  const auto offsets = WholeNumbers(entry, "data_offsets");
  if (!offsets || offsets->size() != 2) return wrong("data_offsets: expected two whole numbers");
  const Place place{(*offsets)[0], (*offsets)[1], name};
  const auto available = static_cast<int64_t>(data.size());
  if (place.begin > place.end || place.end > available)
    return wrong(fmt::format("data_offsets [{}, {}]: expected a part of the {} bytes after the header",
                             place.begin, place.end, available));
  if (place.end - place.begin != BytesOf(*shape, available))
    return wrong(fmt::format("{} bytes do not hold shape {}", place.end - place.begin, ShapeText(*shape)));
  tensor->shape = *shape;
  tensor->bytes = data.substr(place.begin, place.end - place.begin);
  for (int64_t i = 0; i < tensor->size(); ++i) {
    if (!std::isfinite(tensor->At(i))) return wrong(fmt::format("value {} is {}", i, tensor->At(i)));
  }
  return place;
}

absl::Status CheckPlaces(std::vector<Place> places, int64_t size) {
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  int64_t at = 0;
  for (const Place& place : places) {
    if (place.begin < at)
      return WrongTensors(fmt::format("tensor \"{}\": its bytes from {} on are also another tensor's",
                                      place.name, place.begin));
    if (place.begin > at)
      return WrongTensors(
          fmt::format("tensor \"{}\": {} bytes before it belong to no tensor", place.name, place.begin - at));
    at = place.end;
  }
  return at == size ? absl::OkStatus()
                    : WrongTensors(fmt::format("{} bytes after the last tensor belong to none", size - at));
}

}  // namespace

std::string ShapeText(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

float TensorView::At(int64_t i) const {
  float value = 0;
  std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
  return value;
}

std::string SafetensorsText(const std::vector<std::pair<std::string, std::string>>& metadata,
                            const std::vector<Tensor>& tensors) {
  OrderedJson header = OrderedJson::object();
  for (const auto& [name, value] : metadata) header["__metadata__"][name] = value;
  std::size_t at = 0;
  for (const Tensor& tensor : tensors) {
    const std::size_t end = at + tensor.values.size() * sizeof(float);
    header[tensor.name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string json = header.dump();
  json.resize((json.size() + kLength - 1) / kLength * kLength, ' ');
  const uint64_t length = json.size();
  std::string text(reinterpret_cast<const char*>(&length), kLength);
  text.reserve(kLength + json.size() + at);
  text += json;
  for (const Tensor& tensor : tensors)
    text.append(reinterpret_cast<const char*>(tensor.values.data()), tensor.values.size() * sizeof(float));
  return text;
}

absl::StatusOr<Safetensors> ParseSafetensors(std::string_view text) {
  uint64_t length = 0;
  if (text.size() < kLength) return WrongTensors("not safetensors: the file is shorter than 8 bytes");
  std::memcpy(&length, text.data(), kLength);
  text.remove_prefix(kLength);
  if (length > text.size())
    return WrongTensors(
        fmt::format("not safetensors, or cut short: a header of {} bytes in the {} that follow its length",
                    length, text.size()));
  const absl::StatusOr<OrderedJson> header = ParseHeader(text.substr(0, length));
  if (!header.ok()) return header.status();
  const std::string_view data = text.substr(length);
  Safetensors file;
  std::vector<Place> places;
  for (const auto& [name, entry] : header->items()) {
    if (name != "__metadata__") {
      absl::StatusOr<Place> place = ParseTensor(name, entry, data, &file.tensors[name]);
      if (!place.ok()) return place.status();
      places.push_back(*std::move(place));
      continue;
    }
    if (!entry.is_object()) return WrongTensors("__metadata__: expected an object of texts");
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) return WrongTensors(fmt::format("__metadata__: \"{}\": expected a text", key));
      file.metadata[key] = value.get<std::string>();
    }
  }
  if (absl::Status status = CheckPlaces(std::move(places), static_cast<int64_t>(data.size())); !status.ok())
    return status;
  return file;
}

}  // namespace winnow::mlp
