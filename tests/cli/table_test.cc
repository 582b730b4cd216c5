#include "cli/output/table.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>

#include "tests/catch.h"

namespace winnow::cli {

TEST_CASE("Table: columns are aligned by what is seen", "[cli]") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const Terminal no_terminal(ends[1], false);
  Table table({{"NAME"}, {"N", Table::Align::kRight}, {"TEXT"}});
  table.Add({{"größe"}, {"7"}, {"x"}});
  table.Add({{"学"}, {"1,000"}, {"line\nbreak"}});
  table.Add({{""}, {""}, {"last"}});
  CHECK(table.Text(no_terminal, 2) ==
        "  NAME       N  TEXT\n"
        "  größe      7  x\n"
        "  学     1,000  line break\n"
        "                last\n");
  CHECK_FALSE(no_terminal.color());
  close(ends[0]);
  close(ends[1]);
}

TEST_CASE("Terminal: what cannot be written is noted", "[cli]") {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  REQUIRE(full >= 0);
  Terminal terminal(full, false);
  CHECK(terminal.write_error() == 0);
  terminal.Print("text");
  CHECK(terminal.write_error() == ENOSPC);
  close(full);
}

TEST_CASE("Terminal: a pipe that is full for the moment, and does not block, gets all in the end", "[cli]") {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  REQUIRE(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
  const std::string text(1 << 20, 'x');
  size_t got = 0;
  std::thread reader([&] {
    char part[4096];
    for (ssize_t bytes; (bytes = read(ends[0], part, sizeof part)) > 0;) got += static_cast<size_t>(bytes);
  });
  Terminal terminal(ends[1], false);
  terminal.Print(text);
  CHECK(terminal.write_error() == 0);
  close(ends[1]);
  reader.join();
  CHECK(got == text.size());
  close(ends[0]);
}

}  // namespace winnow::cli
