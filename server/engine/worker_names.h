#pragma once

#include <string_view>

namespace winnow {

// Whether a worker of that name is one of an allocation, by the name alone: "ALLOCATION.NODE" or, of a pod,
// "ALLOCATION-SUFFIX" or "ALLOCATION-INDEX-SUFFIX", as Kubernetes names the pods of an Indexed Job. NODE and
// SUFFIX have neither "." nor "-", and INDEX is a number. One name may fit the allocations of two pools, such
// as "gpu" and "gpu-2".
bool IsWorkerOf(std::string_view allocation, std::string_view worker);

}  // namespace winnow
