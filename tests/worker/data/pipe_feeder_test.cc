#include "worker/data/pipe_feeder.h"

#include <signal.h>

#include <fstream>
#include <future>
#include <iterator>

#include "base/status_text.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"

namespace winnow {
namespace {

using Catch::Matchers::Contains;

struct FeederPlay {
  FeederPlay() {
    signal(SIGPIPE, SIG_IGN);
    std::ofstream(folder.path() / "a") << std::string(3'000'000, 'a');
    std::ofstream(folder.path() / "b") << "0123456789";
  }
  std::unique_ptr<PipeFeeder> Start(std::vector<PipePiece> pieces) {
    auto feeder =
        PipeFeeder::Start(folder.path() / "train", std::move(pieces), std::nullopt, {},
                          [this](const absl::Status& status) { failure.set_value(MessageOf(status)); });
    REQUIRE(feeder.ok());
    return *std::move(feeder);
  }
  TempFolder folder;
  std::promise<std::string> failure;
};

TEST_CASE("each epoch streams all pieces in order, also after a reader that left early") {
  FeederPlay play;
  const auto feeder =
      play.Start({{std::nullopt, play.folder.path() / "a"}, {std::nullopt, play.folder.path() / "b", 2, 5}});
  const std::string all = std::string(3'000'000, 'a') + "234";
  CHECK(ReadAll(play.folder.path() / "train_0") == all);
  {
    std::ifstream early(play.folder.path() / "train_1");
    CHECK(early.get() == 'a');
  }
  CHECK(ReadAll(play.folder.path() / "train_2") == all);
}

TEST_CASE("a feeder that nobody reads from ends at once, and leaves no FIFO") {
  FeederPlay play;
  auto feeder = play.Start({{std::nullopt, play.folder.path() / "b"}});
  std::filesystem::remove(play.folder.path() / "train_0");  // somebody tidies up
  feeder = nullptr;
  feeder = play.Start({{std::nullopt, play.folder.path() / "a"}});
  std::ifstream slow(play.folder.path() / "train_0");  // fills the pipe, and reads no more
  CHECK(slow.get() == 'a');
  feeder = nullptr;
  CHECK(std::distance(std::filesystem::directory_iterator(play.folder.path()), {}) == 2);
}

TEST_CASE("an epoch whose data cannot be read does not end") {
  FeederPlay play;
  const auto feeder =
      play.Start({{std::nullopt, play.folder.path() / "b"}, {std::nullopt, play.folder.path() / "none"}});
  std::ifstream reader(play.folder.path() / "train_0");
  CHECK(reader.get() == '0');
  CHECK_THAT(play.failure.get_future().get(), Contains("none cannot be read"));
}

}  // namespace
}  // namespace winnow
