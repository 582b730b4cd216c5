#include "cli/output/table.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

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

}  // namespace winnow::cli
