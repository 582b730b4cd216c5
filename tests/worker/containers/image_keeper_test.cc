#include "worker/containers/image_keeper.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/status_text.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"

namespace winnow {
namespace {

// Engines that write down what they are asked, and answer as a script says.
class Engines {
 public:
  explicit Engines(bool other_users = false)
      : keeper_(&loop_, folder_ / "work", {"PATH=" + (folder_ / "bin").string()}, other_users) {
    std::filesystem::create_directories(folder_ / "bin");
  }

  void Install(const std::string& name, const std::string& script) {
    const std::filesystem::path file = folder_ / "bin" / name;
    std::ofstream(file) << "#!/bin/sh\necho \"$*\" >> " << (folder_ / "asked").string() << "\ncd "
                        << folder_.path().string() << "\n"
                        << script << "\n";
    chmod(file.c_str(), 0755);
  }

  // The results of so many trials.
  std::vector<std::string> Prepare(const v1::ContainerSpec& spec, int trials = 1) {
    std::vector<std::string> told;
    for (int trial = 0; trial < trials; ++trial) {
      keeper_.Prepare(
          "a" + std::to_string(trial), spec, [this](const std::string& text) { progress = text; },
          [&](absl::StatusOr<ContainerImage> image) {
            told.push_back(image.ok() ? std::string(ProgramOf(image->engine)) + " " + image->reference
                                      : MessageOf(image.status()));
            failed_precondition = absl::IsFailedPrecondition(image.status());
            if (runs_ && static_cast<int>(told.size()) == trials) loop_.Quit();
          });
    }
    if (static_cast<int>(told.size()) < trials) {
      const auto limit = loop_.After(std::chrono::seconds(60), [this] { loop_.Quit(); });
      runs_ = true;
      loop_.Run();
      runs_ = false;
      loop_.Cancel(limit);
    }
    return told;
  }

  std::string Asked() const {
    std::ifstream file(folder_ / "asked");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  TempFolder folder_;
  EventLoop loop_;
  ImageKeeper keeper_;
  std::string progress;
  bool failed_precondition = false;

 private:
  bool runs_ = false;
};

v1::ContainerSpec ImageOf(const std::string& engine, const std::string& image) {
  v1::ContainerSpec spec;
  spec.set_engine(engine);
  spec.set_image(image);
  return spec;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("Images: one that the host has is not pulled, and is asked for once", "[worker]") {
  Engines engines;
  engines.Install("podman", "echo 1f2e");
  CHECK(engines.Prepare(ImageOf("podman", "mine:1"), 3) == Texts(3, "podman 1f2e"));
  CHECK(engines.Prepare(ImageOf("podman", "mine:1")) == Texts{"podman 1f2e"});
  CHECK(engines.Asked() == "image inspect --format={{.Id}} mine:1\n");
}

TEST_CASE("Images: one that is not there is pulled once for all trials, with progress", "[worker]") {
  Engines engines;
  engines.Install("podman", "[ $1 = pull ] || exit 1; echo 'Copying blob 3f2a' >&2; echo 77aa");
  CHECK(engines.Prepare(ImageOf("podman", "python:3.12"), 3) == Texts(3, "podman 77aa"));
  CHECK(engines.Asked() == "image inspect --format={{.Id}} python:3.12\npull python:3.12\n");
  CHECK_THAT(engines.progress, Catch::StartsWith("pulls python:3.12: "));
}

TEST_CASE("Images: docker is asked for the id after its pull", "[worker]") {
  Engines engines;
  engines.Install("docker", "if [ $1 = pull ]; then : > pulled; else [ -e pulled ] && echo sha256:77; fi");
  CHECK(engines.Prepare(ImageOf("docker", "python:3.12")) == Texts{"docker sha256:77"});
}

TEST_CASE("Images: apptainer keeps what it pulls, and takes files as they are", "[worker]") {
  Engines engines;
  engines.Install("apptainer", "echo image > $3");
  const Texts told = engines.Prepare(ImageOf("apptainer", "docker://python:3.12"));
  REQUIRE(told.size() == 1);
  CHECK(std::filesystem::exists(told[0].substr(std::string("apptainer ").size())));
  CHECK(engines.Prepare(ImageOf("apptainer", "docker://python:3.12")) == told);
  const std::string file = (engines.folder_ / "bin/apptainer").string();
  CHECK(engines.Prepare(ImageOf("apptainer", file)) == Texts{"apptainer " + file});
  CHECK_THAT(engines.Prepare(ImageOf("apptainer", "/nowhere.sif"))[0],
             Catch::Contains("\"/nowhere.sif\", which is not a file"));
}

TEST_CASE("Images: trials reach those of apptainer also after the worker has started anew", "[worker]") {
  const TempFolder folder;
  const std::filesystem::path images = folder / "images";
  std::filesystem::create_directory(images);
  std::filesystem::permissions(images, std::filesystem::perms(0700));  // as a start with --run-as leaves it
  EventLoop loop;
  const ImageKeeper keeper(&loop, folder.path(), {}, true);
  CHECK(std::filesystem::status(images).permissions() == std::filesystem::perms(0711));
}

TEST_CASE("Images: the first engine that a worker has is used where the job names none", "[worker]") {
  Engines engines;
  CHECK_THAT(engines.Prepare(ImageOf("", "mine:1"))[0],
             Catch::Contains("none of podman, docker and apptainer"));
  engines.Install("apptainer", "");
  engines.Install("podman", "echo 1f2e");
  CHECK(engines.Prepare(ImageOf("", "mine:1")) == Texts{"podman 1f2e"});
}

TEST_CASE("Images: an error has the engine's last words, and the next Prepare tries again", "[worker]") {
  Engines engines;
  engines.Install("podman",
                  "[ $1 = pull ] && echo 'Error: initializing source: connection refused' >&2; exit 125");
  const Texts told = engines.Prepare(ImageOf("podman", "reg/x:1"), 2);
  CHECK(told == Texts(2,
                      "trainer.container.image \"reg/x:1\": `podman pull` failed with exit code 125: Error: "
                      "initializing source: connection refused"));
  CHECK(engines.failed_precondition);
  engines.Install("podman", "echo 1f2e");
  CHECK(engines.Prepare(ImageOf("podman", "reg/x:1")) == Texts{"podman 1f2e"});
  engines.keeper_.Forget("1f2e");
  engines.Install("podman", "echo 3d4c");
  CHECK(engines.Prepare(ImageOf("podman", "reg/x:1")) == Texts{"podman 3d4c"});
}

TEST_CASE("Images: an engine that the worker does not have is named", "[worker]") {
  Engines engines;
  CHECK_THAT(engines.Prepare(ImageOf("apptainer", "a.sif"))[0],
             Catch::StartsWith("trainer.container.engine is \"apptainer\", which this worker does not have"));
  CHECK(engines.failed_precondition);
}

TEST_CASE("Images: where trials are other users, options that give rights are refused", "[worker]") {
  Engines engines(true);
  engines.Install("podman", "echo 1f2e");
  v1::ContainerSpec spec = ImageOf("podman", "mine:1");
  spec.add_options("--read-only");
  CHECK(engines.Prepare(spec) == Texts{"podman 1f2e"});
  spec.add_options("--privileged");
  CHECK_THAT(engines.Prepare(spec)[0], Catch::StartsWith("trainer.container.options has \"--privileged\""));
  CHECK(engines.failed_precondition);
}

TEST_CASE("Images: a pull that nobody waits for is killed", "[worker]") {
  Engines engines;
  engines.Install("podman", "[ $1 = pull ] || exit 1; echo began > began; exec /bin/sleep 600");
  bool called = false;
  engines.keeper_.Prepare(
      "a", ImageOf("podman", "big:1"), [&](const std::string&) { engines.loop_.Quit(); },
      [&](const absl::StatusOr<ContainerImage>&) { called = true; });
  engines.loop_.Run();
  engines.keeper_.Abandon("a");
  engines.Install("podman", "echo 1f2e");
  CHECK(engines.Prepare(ImageOf("podman", "big:1")) == Texts{"podman 1f2e"});
  CHECK_FALSE(called);
}

}  // namespace winnow
