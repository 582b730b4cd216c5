#include "base/gpus.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/names.h"

namespace winnow {
namespace {

constexpr size_t kLongestGpuId = 128;
constexpr size_t kMostGpuIds = 1024;
constexpr std::string_view kGpuDigits = "0123456789";

bool IsGpuIndex(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kGpuDigits) == std::string_view::npos;
}

std::string TrimmedField(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

std::vector<std::string> Fields(std::string_view text, char separator) {
  std::vector<std::string> fields;
  for (size_t from = 0; from <= text.size();) {
    const size_t end = std::min(text.find(separator, from), text.size());
    fields.push_back(TrimmedField(text.substr(from, end - from)));
    from = end + 1;
  }
  return fields;
}

// Absent: it is no number.
std::optional<double> NumberIn(const std::string& field) {
  char* end = nullptr;
  const double value = std::strtod(field.c_str(), &end);
  return end != field.c_str() && *end == '\0' && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<double> PartOf(std::optional<double> value, std::optional<double> whole) {
  if (!value || !whole || *whole <= 0) return std::nullopt;
  return std::clamp(*value / *whole, 0.0, 1.0);
}

// The standard output of a shell command; "" if it fails.
std::string OutputOf(const char* command) {
  std::FILE* pipe = popen(command, "re");
  if (pipe == nullptr) return "";
  std::string output;
  std::array<char, 4096> buffer{};
  for (size_t bytes = 0; (bytes = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    output.append(buffer.data(), bytes);
  return pclose(pipe) == 0 ? output : "";
}

std::vector<GpuDevice> DeviceFiles(const std::string& devices) {
  constexpr std::string_view kPrefix = "nvidia";
  std::vector<int> numbers;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(devices, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name.starts_with(kPrefix) && IsGpuIndex(name.substr(kPrefix.size())) && name.size() < 12)
      numbers.push_back(std::stoi(name.substr(kPrefix.size())));
  }
  std::sort(numbers.begin(), numbers.end());
  std::vector<GpuDevice> gpus;
  for (const int number : numbers) gpus.push_back({std::to_string(number), "", ""});
  return gpus;
}

}  // namespace

std::vector<GpuDevice> ReadNvidiaSmi(std::string_view output) {
  std::vector<GpuDevice> gpus;
  for (const std::string& line : Fields(output, '\n')) {
    const std::vector<std::string> fields = Fields(line, ',');
    if (fields.size() >= 3 && IsGpuIndex(fields[0])) gpus.push_back({fields[0], fields[1], fields[2]});
  }
  return gpus;
}

std::vector<GpuDevice> ReadRocmSmi(std::string_view output) {
  constexpr std::string_view kPrefix = "card";
  std::vector<GpuDevice> gpus;
  for (const std::string& line : Fields(output, '\n')) {
    const std::vector<std::string> fields = Fields(line, ',');
    if (!fields[0].starts_with(kPrefix) || !IsGpuIndex(fields[0].substr(kPrefix.size()))) continue;
    gpus.push_back({fields[0].substr(kPrefix.size()), "", fields.size() > 1 ? fields[1] : ""});
  }
  return gpus;
}

std::vector<GpuUse> ReadNvidiaSmiUse(std::string_view output) {
  std::vector<GpuUse> uses;
  for (const std::string& line : Fields(output, '\n')) {
    const std::vector<std::string> fields = Fields(line, ',');
    if (fields.size() < 5 || !IsGpuIndex(fields[0])) continue;
    uses.push_back({fields[0], fields[1], PartOf(NumberIn(fields[2]), 100),
                    PartOf(NumberIn(fields[3]), NumberIn(fields[4]))});
  }
  return uses;
}

std::vector<GpuUse> ReadRocmSmiUse(std::string_view output) {
  constexpr std::string_view kPrefix = "card";
  std::vector<GpuUse> uses;
  size_t utilization = 0, memory = 0;  // columns; 0: none
  for (const std::string& line : Fields(output, '\n')) {
    const std::vector<std::string> fields = Fields(line, ',');
    if (fields[0] == "device") {
      // "GPU use (%)"; "GPU memory use (%)" or "GPU Memory Allocated (VRAM%)".
      for (size_t i = fields.size(); i-- > 1;) {
        if (fields[i] == "GPU use (%)") utilization = i;
        if (fields[i].starts_with("GPU") && fields[i].find("emory") != std::string::npos &&
            fields[i].find('%') != std::string::npos && fields[i].find("Activity") == std::string::npos)
          memory = i;
      }
      continue;
    }
    if (!fields[0].starts_with(kPrefix) || !IsGpuIndex(fields[0].substr(kPrefix.size()))) continue;
    const auto percent = [&fields](size_t column) -> std::optional<double> {
      return column > 0 && column < fields.size() ? PartOf(NumberIn(fields[column]), 100) : std::nullopt;
    };
    uses.push_back({fields[0].substr(kPrefix.size()), "", percent(utilization), percent(memory)});
  }
  return uses;
}

std::vector<GpuDevice> FindGpus(const std::string& devices) {
  std::vector<GpuDevice> gpus = ReadNvidiaSmi(
      OutputOf("timeout -k 1 10 nvidia-smi --query-gpu=index,uuid,name --format=csv,noheader 2>/dev/null"));
  if (gpus.empty()) gpus = DeviceFiles(devices);
  if (gpus.empty())
    gpus = ReadRocmSmi(OutputOf("timeout -k 1 10 rocm-smi --showproductname --csv 2>/dev/null"));
  return gpus;
}

absl::StatusOr<std::vector<GpuDevice>> NamedGpus(const std::string& text,
                                                 const std::vector<GpuDevice>& found) {
  constexpr std::string_view kGood = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/";
  std::vector<GpuDevice> gpus;
  if (text == "none") return gpus;
  for (const std::string& id : Fields(text, ',')) {
    if (id.empty() || id.size() > kLongestGpuId || id.find_first_not_of(kGood) != std::string::npos) {
      return absl::InvalidArgumentError(
          Quoted(text) +
          " is not a list of GPUs; expected none, or indices or UUIDs with commas between them, "
          "as in 0,1,2,3");
    }
    GpuDevice gpu{id, "", ""};
    for (const GpuDevice& known : found) {
      if (known.id == id || (!known.uuid.empty() && known.uuid == id)) gpu = {id, known.uuid, known.model};
    }
    for (const GpuDevice& other : gpus) {
      if (other.id == id)
        return absl::InvalidArgumentError(Quoted(text) + " names " + id + " twice; expected each GPU once");
      if (IsGpuIndex(other.id) == IsGpuIndex(id)) continue;
      return absl::InvalidArgumentError(Quoted(text) + " has indices and UUIDs; expected one of the two");
    }
    gpus.push_back(std::move(gpu));
  }
  if (gpus.size() > kMostGpuIds)
    return absl::InvalidArgumentError("names " + std::to_string(gpus.size()) +
                                      " GPUs; expected at most 1024");
  return gpus;
}

absl::StatusOr<std::vector<GpuDevice>> OwnGpus(const std::string& flag) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (flag == "none") return std::vector<GpuDevice>();
  std::vector<GpuDevice> found = FindGpus();
  if (!flag.empty()) return NamedGpus(flag, found);
  if (visible == nullptr) return found;
  // "", "-1" and "NoDevFiles" hide all devices. What the driver would not understand names none either.
  const absl::StatusOr<std::vector<GpuDevice>> named = NamedGpus(visible, found);
  const std::string text = visible;
  if (!named.ok() || text.starts_with('-') || text == "NoDevFiles") return std::vector<GpuDevice>();
  return named;
}

std::string GpuListText(const std::vector<GpuDevice>& gpus) {
  std::string text;
  for (const GpuDevice& gpu : gpus) text += (text.empty() ? "" : ",") + gpu.id;
  return text.empty() ? "none" : text;
}

}  // namespace winnow
