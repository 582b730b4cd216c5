#include "base/gpus.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/catch.h"
#include "tests/support/temp_folder.h"

namespace winnow {
namespace {

using Gpus = std::vector<GpuDevice>;

const Gpus kFound = {{"0", "GPU-aa", "A100"}, {"1", "GPU-bb", "A100"}};

// Sets a variable of this process until its end; "-": unsets it.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    value == "-" ? unsetenv(name) : setenv(name, value.c_str(), 1);
  }
  ~Variable() { old_ == "-" ? unsetenv(name_) : setenv(name_, old_.c_str(), 1); }

 private:
  const char* const name_;
  std::string old_ = "-";
};

void WriteProgram(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << "#!/bin/sh\n" << text;
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

TEST_CASE("GPUs: nvidia-smi's list", "[base]") {
  CHECK(ReadNvidiaSmi("0, GPU-aa, NVIDIA A100-SXM4-40GB\n1, GPU-bb, Tesla T4\n") ==
        Gpus{{"0", "GPU-aa", "NVIDIA A100-SXM4-40GB"}, {"1", "GPU-bb", "Tesla T4"}});
  CHECK(ReadNvidiaSmi("NVIDIA-SMI has failed because it couldn't communicate, with, the driver\n").empty());
  CHECK(ReadNvidiaSmi("").empty());
}

TEST_CASE("GPUs: rocm-smi's list", "[base]") {
  CHECK(ReadRocmSmi(
            "device,Card series,Card model\ncard0,Instinct MI210,0x0c34\ncard1,Instinct MI210,0x0c34\n\n") ==
        Gpus{{"0", "", "Instinct MI210"}, {"1", "", "Instinct MI210"}});
  CHECK(ReadRocmSmi("WARNING: No AMD GPUs specified\n").empty());
}

TEST_CASE("GPUs: named ones are known by index or UUID, each once", "[base]") {
  CHECK(*NamedGpus("1, 7", kFound) == Gpus{{"1", "GPU-bb", "A100"}, {"7", "", ""}});
  CHECK(*NamedGpus("GPU-aa,MIG-cc", kFound) == Gpus{{"GPU-aa", "GPU-aa", "A100"}, {"MIG-cc", "", ""}});
  CHECK(NamedGpus("none", kFound)->empty());
  CHECK(NamedGpus("0,1,0", {}).status().message() == "\"0,1,0\" names 0 twice; expected each GPU once");
  CHECK(NamedGpus("0,GPU-aa", kFound).status().message() ==
        "\"0,GPU-aa\" has indices and UUIDs; expected one of the two");
  for (const char* wrong : {"0,,1", "0,1,", "a b", "0;1"}) {
    CHECK(NamedGpus(wrong, {}).status().message().find("is not a list of GPUs; expected none, or indices") !=
          std::string::npos);
  }
}

TEST_CASE("GPUs: without nvidia-smi they are the device files", "[base]") {
  TempFolder folder;
  const Variable path("PATH", "/usr/bin:/bin");
  for (const char* name : {"nvidia10", "nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "nvidia", "null"})
    std::ofstream(folder / name) << "";
  CHECK(FindGpus(folder.path().string()) == Gpus{{"0", "", ""}, {"1", "", ""}, {"10", "", ""}});
}

TEST_CASE("GPUs: what a host has, unless a flag or CUDA_VISIBLE_DEVICES names others", "[base]") {
  TempFolder folder;
  WriteProgram(folder / "nvidia-smi", "echo 0, GPU-aa, A100; echo 1, GPU-bb, A100\n");
  const Variable path("PATH", folder.path().string() + ":/usr/bin:/bin");
  {
    const Variable visible("CUDA_VISIBLE_DEVICES", "-");
    CHECK(*OwnGpus("") == kFound);
    CHECK(OwnGpus("none")->empty());
    CHECK(*OwnGpus("GPU-bb") == Gpus{{"GPU-bb", "GPU-bb", "A100"}});
    CHECK_FALSE(OwnGpus("0,0").ok());
  }
  const Variable visible("CUDA_VISIBLE_DEVICES", "1");
  CHECK(*OwnGpus("") == Gpus{kFound[1]});
  CHECK(*OwnGpus("0") == Gpus{kFound[0]});
  const Variable hidden("CUDA_VISIBLE_DEVICES", GENERATE("", "-1", "NoDevFiles"));
  CHECK(OwnGpus("")->empty());
}

TEST_CASE("GPUs: their use, as nvidia-smi and rocm-smi tell it", "[base]") {
  CHECK(ReadNvidiaSmiUse("0, GPU-aa, 35, 10240, 40960\n1, GPU-bb, [N/A], [N/A], 40960\nno devices\n") ==
        std::vector<GpuUse>{{"0", "GPU-aa", 0.35, 0.25}, {"1", "GPU-bb", std::nullopt, std::nullopt}});
  CHECK(ReadRocmSmiUse(
            "device,GPU use (%),GPU memory use (%),Memory Activity\ncard0,12,50,N/A\ncard1,N/A,0,N/A\n") ==
        std::vector<GpuUse>{{"0", "", 0.12, 0.5}, {"1", "", std::nullopt, 0}});
  CHECK(ReadRocmSmiUse("card0,12,50\n") == std::vector<GpuUse>{{"0", "", std::nullopt, std::nullopt}});
}

TEST_CASE("GPUs: their text is a list that names them", "[base]") {
  CHECK(GpuListText(kFound) == "0,1");
  CHECK(GpuListText({}) == "none");
}

}  // namespace
}  // namespace winnow
