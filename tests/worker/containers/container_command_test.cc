#include "worker/containers/container_command.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "worker/containers/trial_container.h"

namespace winnow {
namespace {

using Words = std::vector<std::string>;

ContainerPlan PlanFor(ContainerEngine engine) {
  ContainerPlan plan;
  plan.engine = engine;
  plan.image = "sha256:1f2e";
  plan.options = {"--ulimit=nofile=4096:4096"};
  plan.command = {"python3", "train.py", "--lr", "0.1"};
  plan.name = "winnow-a-1";
  plan.labels = {{"winnow.worker", "a"}};
  plan.variables_file = "/var/lib/winnow/containers/winnow-a-1.env";
  plan.mounts = {{"/shared/checkpoint", true}, {"/data/train.csv", false}};
  plan.working_directory = "/var/lib/winnow/sources/abc";
  plan.uid = 1000;
  plan.gid = 1001;
  return plan;
}

bool Has(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

void Touch(const std::filesystem::path& file) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << "\n";
}

}  // namespace

TEST_CASE("Container command: podman's, with the user's options after ours and the command after the image",
          "[worker]") {
  ContainerPlan plan = PlanFor(ContainerEngine::kPodman);
  plan.program_id_file = "/var/lib/winnow/containers/winnow-a-1.pid";
  plan.control = true;
  plan.cpus = 1.5;
  plan.memory_gib = 2;
  CHECK(ContainerCommand(plan) ==
        Words{"podman",
              "--log-level=error",
              "run",
              "--rm",
              "--pull=never",
              "--network=host",
              "--pid=host",
              "--ipc=host",
              "--log-driver=passthrough",
              "--name=winnow-a-1",
              "--stop-timeout=0",
              "--label=winnow.worker=a",
              "--env-file=/var/lib/winnow/containers/winnow-a-1.env",
              "--pidfile=/var/lib/winnow/containers/winnow-a-1.pid",
              "--mount=type=bind,source=/shared/checkpoint,destination=/shared/checkpoint",
              "--mount=type=bind,source=/data/train.csv,destination=/data/train.csv,readonly",
              "--workdir=/var/lib/winnow/sources/abc",
              "--user=1000:1001",
              "--cpus=1.5",
              "--memory=2147483648b",
              "--memory-swap=2147483648b",
              "--oom-score-adj=500",
              "--preserve-fds=1",
              "--entrypoint=",
              "--ulimit=nofile=4096:4096",
              "sha256:1f2e",
              "python3",
              "train.py",
              "--lr",
              "0.1"});
}

TEST_CASE("Container command: docker's writes no log, and one under --run-as has no rights", "[worker]") {
  ContainerPlan plan = PlanFor(ContainerEngine::kDocker);
  plan.without_rights = true;
  CHECK(ContainerCommand(plan) ==
        Words{"docker",
              "run",
              "--rm",
              "--pull=never",
              "--network=host",
              "--pid=host",
              "--ipc=host",
              "--log-driver=none",
              "--name=winnow-a-1",
              "--stop-timeout=0",
              "--label=winnow.worker=a",
              "--env-file=/var/lib/winnow/containers/winnow-a-1.env",
              "--mount=type=bind,source=/shared/checkpoint,destination=/shared/checkpoint",
              "--mount=type=bind,source=/data/train.csv,destination=/data/train.csv,readonly",
              "--workdir=/var/lib/winnow/sources/abc",
              "--user=1000:1001",
              "--cap-drop=all",
              "--security-opt=no-new-privileges",
              "--oom-score-adj=500",
              "--entrypoint=",
              "--ulimit=nofile=4096:4096",
              "sha256:1f2e",
              "python3",
              "train.py",
              "--lr",
              "0.1"});
}

TEST_CASE("Container command: apptainer's binds the same paths", "[worker]") {
  ContainerPlan plan = PlanFor(ContainerEngine::kApptainer);
  plan.image = "/images/a.sif";
  plan.options = {"--writable-tmpfs"};
  CHECK(ContainerCommand(plan) ==
        Words{"apptainer", "exec", "--cleanenv", "--no-home", "--bind=/shared/checkpoint:/shared/checkpoint",
              "--bind=/data/train.csv:/data/train.csv:ro", "--pwd=/var/lib/winnow/sources/abc",
              "--writable-tmpfs", "/images/a.sif", "python3", "train.py", "--lr", "0.1"});
}

TEST_CASE("Container command: GPUs come in as each engine takes them", "[worker]") {
  const auto with = [](ContainerEngine engine, GpuAccess access) {
    ContainerPlan plan = PlanFor(engine);
    plan.gpus = {"2", "3"};
    plan.gpu_access = access;
    return ContainerCommand(plan);
  };
  const Words cdi = with(ContainerEngine::kPodman, GpuAccess::kCdi);
  CHECK(Has(cdi, "--device=nvidia.com/gpu=2"));
  CHECK(Has(cdi, "--device=nvidia.com/gpu=3"));
  CHECK(Has(with(ContainerEngine::kDocker, GpuAccess::kGpus), "--gpus=\"device=2,3\""));
  CHECK(Has(with(ContainerEngine::kDocker, GpuAccess::kAmd), "--device=/dev/kfd"));
  CHECK(Has(with(ContainerEngine::kApptainer, GpuAccess::kNvidia), "--nv"));
  CHECK(Has(with(ContainerEngine::kApptainer, GpuAccess::kRocm), "--rocm"));
  ContainerPlan none = PlanFor(ContainerEngine::kPodman);
  none.gpu_access = GpuAccess::kCdi;
  for (const std::string& word : ContainerCommand(none)) CHECK_FALSE(word.starts_with("--device"));
}

TEST_CASE("Container command: devices that come in alone are numbered from 0", "[worker]") {
  CHECK(VisibleGpus({"2", "3"}, GpuAccess::kCdi) == "0,1");
  CHECK(VisibleGpus({"2", "3"}, GpuAccess::kNone) == "2,3");
  CHECK(VisibleGpus({"2"}, GpuAccess::kNvidia) == "2");
  CHECK(VisibleGpus({"GPU-9a", "GPU-3b"}, GpuAccess::kGpus) == "GPU-9a,GPU-3b");
}

TEST_CASE("Container command: the way of GPUs is found by the host's files", "[worker]") {
  TempFolder none, nvidia, amd;
  Touch(nvidia / "dev/nvidiactl");
  Touch(amd / "dev/kfd");
  const auto access = [](ContainerEngine engine, const TempFolder& root) {
    return FindGpuAccess(engine, (root / "").string());
  };
  CHECK(access(ContainerEngine::kPodman, none) == GpuAccess::kNone);
  CHECK(access(ContainerEngine::kPodman, nvidia) == GpuAccess::kNone);
  CHECK(access(ContainerEngine::kDocker, nvidia) == GpuAccess::kGpus);
  CHECK(access(ContainerEngine::kApptainer, nvidia) == GpuAccess::kNvidia);
  CHECK(access(ContainerEngine::kPodman, amd) == GpuAccess::kAmd);
  CHECK(access(ContainerEngine::kApptainer, amd) == GpuAccess::kRocm);
  Touch(nvidia / "etc/cdi/nvidia.yaml");
  CHECK(access(ContainerEngine::kPodman, nvidia) == GpuAccess::kCdi);
  CHECK(access(ContainerEngine::kDocker, nvidia) == GpuAccess::kCdi);
}

TEST_CASE("Container command: options that could give rights are not harmless", "[worker]") {
  for (const char* option :
       {"--privileged", "--volume=/:/host", "-v=/:/host", "--user=0", "--cap-add=all", "--device=/dev/sda",
        "--security-opt=seccomp=unconfined", "--read-onlyx", "--mount=x"})
    CHECK_FALSE(IsHarmless(option));
  for (const char* option : {"--read-only", "--ulimit=nofile=9", "--entrypoint=/x", "--cap-drop=chown"})
    CHECK(IsHarmless(option));
  CHECK(CheckMount({"/data/a b=c", false}).ok());
  for (const char* path : {"/data/a,readonly=false", "/a:/b", "/a\n"})
    CHECK_FALSE(CheckMount({path, false}).ok());
}

TEST_CASE("Container command: a container has the variables of the job and of the contract only",
          "[worker]") {
  v1::Assignment assignment;
  (*assignment.mutable_environment())["MODE"] = "fast";
  (*assignment.mutable_secrets())["API_KEY"] = "key";
  const Words all = {"API_KEY=1234",  "HOME=/h", "LD_PRELOAD=/x.so", "MODE=fast",
                     "PATH=/usr/bin", "RANK=0",  "SM_HPS={}",        "WINNOW_TRIAL=3"};
  CHECK(ContainerVariables(assignment, false, all) ==
        Words{"API_KEY=1234", "MODE=fast", "RANK=0", "SM_HPS={}", "WINNOW_TRIAL=3"});
  CHECK(Has(ContainerVariables(assignment, true, all), "HOME=/h"));
  (*assignment.mutable_environment())["PATH"] = "/opt/bin";
  CHECK(Has(ContainerVariables(assignment, false, all), "PATH=/usr/bin"));
}

TEST_CASE("Container command: a channel comes in with what its links lead to", "[worker]") {
  TempFolder folder;
  Touch(folder / "table.csv");
  Touch(folder / "far/a.csv");
  std::filesystem::create_directories(folder / "view");
  std::filesystem::create_symlink(folder / "far/a.csv", folder / "view/a.csv");
  const auto mount = [&folder](const std::string& name) {
    return ContainerMount{(folder / name).string(), false};
  };
  const auto mounts = [&folder](const std::string& channel, const std::string& views) {
    return ChannelMounts(folder / channel, folder / views);
  };
  using Mounts = std::vector<ContainerMount>;
  CHECK(mounts("table.csv", "view") == Mounts{mount("table.csv")});
  CHECK(mounts("view", "view") == Mounts{mount("far"), mount("view")});
  CHECK(mounts("view/train", "view") == Mounts{mount("view")});
  // Only the worker's own links are followed.
  CHECK(mounts("view", "other") == Mounts{mount("view")});
  CHECK(ChannelMounts(folder / "view", "") == Mounts{mount("view")});
}

TEST_CASE("Container command: an engine is started with nothing of the server's or of a trial", "[worker]") {
  CHECK(EngineEnvironment({"PATH=/bin", "WINNOW_TOKEN=t", "WINNOW_TLS_KEY=k", "WINNOW_SERVER=a:1",
                           "WINNOW_ASSIGNMENT=x", "WINNOW_WORK_DIR=/w", "CONTAINERS_CONF=/c"}) ==
        Words{"PATH=/bin", "CONTAINERS_CONF=/c"});
}

}  // namespace winnow
