#include "worker/containers/container_host.h"

#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/catch.h"
#include "tests/support/temp_folder.h"

namespace winnow {
namespace {

// What docker was asked until the container counted as removed; its program does as the script says.
std::string AskedOf(const std::string& script) {
  TempFolder folder;
  std::filesystem::create_directories(folder / "bin");
  const std::filesystem::path docker = folder / "bin/docker", asked = folder / "asked";
  std::ofstream(docker) << "#!/bin/sh\necho \"$*\" >> " << asked.string() << "\n" << script << "\n";
  chmod(docker.c_str(), 0755);
  EventLoop loop;
  ContainerHost host(&loop, folder / "work", {"PATH=" + (folder / "bin").string()}, false);
  const auto limit = loop.After(std::chrono::seconds(60), [&loop] { loop.Quit(); });
  bool done = false;
  host.Remove(ContainerEngine::kDocker, "one", [&] {
    done = true;
    loop.Quit();
  });
  loop.Run();
  loop.Cancel(limit);
  CHECK(done);
  std::ifstream file(asked);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("Container host: a container that its engine could not remove is not given up at once",
          "[worker]") {
  const std::string rm = "rm --force one\n";
  CHECK(AskedOf("true") == rm);
  CHECK(AskedOf("echo 'Error: No such container: one' >&2; exit 1") == rm);
  TempFolder folder;
  const std::string once = (folder / "once").string();
  CHECK(AskedOf("[ -e " + once + " ] || { : > " + once + "; echo 'device or resource busy' >&2; exit 1; }") ==
        rm + rm);
}

}  // namespace
}  // namespace winnow
