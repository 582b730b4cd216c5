#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow {

// A GPU of this host.
struct GpuDevice {
  std::string id;     // as in CUDA_VISIBLE_DEVICES: an index or a UUID
  std::string uuid;   // "": unknown
  std::string model;  // "NVIDIA A100-SXM4-40GB"; "": unknown

  bool operator==(const GpuDevice&) const = default;
};

// The lines of `nvidia-smi --query-gpu=index,uuid,name --format=csv,noheader`; others are left out.
std::vector<GpuDevice> ReadNvidiaSmi(std::string_view output);
// The lines of `rocm-smi --showproductname --csv`; others are left out.
std::vector<GpuDevice> ReadRocmSmi(std::string_view output);

// How much of a GPU all processes of the host use, 0 to 1. Absent: not known.
struct GpuUse {
  std::string id;    // an index
  std::string uuid;  // "": unknown
  std::optional<double> utilization;
  std::optional<double> memory;

  bool operator==(const GpuUse&) const = default;
};

// The lines of `nvidia-smi --query-gpu=index,uuid,utilization.gpu,memory.used,memory.total
// --format=csv,noheader,nounits`; others are left out.
std::vector<GpuUse> ReadNvidiaSmiUse(std::string_view output);
// The lines of `rocm-smi --showuse --showmemuse --csv`; others are left out.
std::vector<GpuUse> ReadRocmSmiUse(std::string_view output);

// The devices that nvidia-smi lists; else the nvidia0, nvidia1, … in `devices`, which is /dev; else those
// that rocm-smi lists. A program that hangs is ended after 10 s.
std::vector<GpuDevice> FindGpus(const std::string& devices = "/dev");

// The devices that the value of --gpus names: "none", or ids with commas between them. Model and UUID are
// those of the same device among `found`. INVALID_ARGUMENT: an id is not valid, a device is
// there twice, or there are both indices and UUIDs, which drivers do not take together.
absl::StatusOr<std::vector<GpuDevice>> NamedGpus(const std::string& text,
                                                 const std::vector<GpuDevice>& found);

// The devices that trainers of this host may get: those that `flag`, the value of --gpus, names. If it is
// empty, those of CUDA_VISIBLE_DEVICES if that variable is set; else FindGpus.
absl::StatusOr<std::vector<GpuDevice>> OwnGpus(const std::string& flag);

// The ids with commas between them; "none" if there is no device.
std::string GpuListText(const std::vector<GpuDevice>& gpus);

}  // namespace winnow
