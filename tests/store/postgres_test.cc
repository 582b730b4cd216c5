#include <chrono>
#include <fstream>
#include <iterator>

#include "checkout.h"
#include "server/host/own_database.h"
#include "store/database/postgres_database.h"
#include "store/database/postgres_dialect.h"
#include "store/leadership.h"
#include "store/store.h"
#include "tests/catch.h"
#include "tests/store/get.h"
#include "tests/store/stores.h"

namespace winnow {
namespace {

TEST_CASE("PostgreSQL: an address with a password is refused, and the message does not repeat it",
          "[store]") {
  for (const char* address : {"postgresql://ada:secret@host/db", "postgresql://ada@host/db?password=secret",
                              "postgresql://ada:secret@host:no-port:1/db"}) {
    INFO(address);
    const absl::Status status = CheckPostgresAddress(address);
    CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
    CHECK_THAT(std::string(status.message()), !Catch::Contains("secret"));
  }
  CHECK(CheckPostgresAddress("postgresql://ada@host:5432/db?sslmode=verify-full").ok());
  CHECK(PostgresDatabaseName("postgresql://ada@host/db") == "db");
}

TEST_CASE("PostgreSQL: errors become the status that the caller can act on", "[store]") {
  struct Case {
    const char* sqlstate;
    absl::StatusCode expected;
    const char* advice;
  };
  const auto c = GENERATE(
      Case{"", absl::StatusCode::kUnavailable, ""}, Case{"57P01", absl::StatusCode::kUnavailable, ""},
      Case{"08006", absl::StatusCode::kUnavailable, ""}, Case{"55P03", absl::StatusCode::kUnavailable, ""},
      Case{"23505", absl::StatusCode::kAlreadyExists, ""},
      Case{"23503", absl::StatusCode::kFailedPrecondition, ""},
      Case{"42501", absl::StatusCode::kFailedPrecondition, "GRANT"},
      Case{"25006", absl::StatusCode::kFailedPrecondition, "standby"},
      Case{"53100", absl::StatusCode::kResourceExhausted, "full"},
      Case{"XX001", absl::StatusCode::kDataLoss, "backup"}, Case{"WN001", absl::StatusCode::kDataLoss, ""});
  const absl::Status status = PostgresStatus(c.sqlstate, "postgresql://h/d", "message", "doing");
  CHECK(status.code() == c.expected);
  CHECK_THAT(std::string(status.message()), Catch::Contains("message") && Catch::Contains(c.advice));
}

TEST_CASE("PostgreSQL: the error of too many clients says how many connections a server takes", "[store]") {
  const absl::Status status =
      PostgresRefusal("postgresql://h/d", "FATAL: sorry, too many clients already", false);
  CHECK(absl::IsUnavailable(status));
  CHECK_THAT(std::string(status.message()), Catch::EndsWith("a server of Winnow takes up to 20"));
  std::ifstream docs(WINNOW_SOURCE_DIR "/docs/postgresql.md");
  const std::string text{std::istreambuf_iterator<char>(docs), {}};
  CHECK_THAT(text, Catch::Contains("A server takes up to 20 connections"));
}

TEST_CASE("PostgreSQL: statements are SQLite's, translated", "[store]") {
  CHECK(PostgresStatement("INSERT OR IGNORE INTO taken_ids (id) VALUES (?1)") ==
        "INSERT INTO taken_ids (id) VALUES ($1) ON CONFLICT DO NOTHING");
  CHECK(PostgresStatement("INSERT OR REPLACE INTO job_descriptions (job, description) VALUES (?1, ?2)") ==
        "INSERT INTO job_descriptions (job, description) VALUES ($1, $2) ON CONFLICT (job) DO UPDATE SET"
        " description = excluded.description");
  CHECK(PostgresStatement("SELECT offset FROM logs LIMIT ?12 OFFSET ?3") ==
        "SELECT \"offset\" FROM logs LIMIT NULLIF(CAST($12 AS BIGINT), -1) OFFSET $3");
  const std::string types[] = {"bigint", "text"};
  CHECK(PostgresManyRows("INSERT INTO t (a, b) VALUES ($1, $2)", types, 2) ==
        "INSERT INTO t (a, b) SELECT * FROM unnest($1::bigint[], $2::text[])");
  CHECK(
      PostgresManyRows("INSERT INTO t (a, b) VALUES ($1, $2) ON CONFLICT (a) DO UPDATE SET b = $2", types, 2)
          .empty());
}

// What follows needs a server; see stores.h.

TEST_CASE("PostgreSQL: what an earlier leader writes fails, and it commits not one row",
          "[.postgres][stores]") {
  if (!Places::postgres()) return;
  Places places;
  const std::string name = places.Name("lead");
  auto first = Get(Leadership::TakeAtOnce(name));
  auto old = Get(Store::Open(name));
  REQUIRE(first->Guard(old->database()).ok());
  const auto mark = [](Store& store, const char* worker) {
    return store.Write([&] { return store.workers.PutMark({worker, Marked::kCordoned, "", 0}); });
  };
  CHECK(mark(*old, "one").ok());
  CHECK(Leadership::TakeAtOnce(name).status().code() == absl::StatusCode::kFailedPrecondition);

  // It stops counting beats: the next one takes over, also from the middle of a transaction.
  auto open = Get(Transaction::Begin(old->database()));
  REQUIRE(old->workers.PutMark({"lost", Marked::kCordoned, "", 0}).ok());
  bool waited = false;
  auto second = Get(Leadership::Take(
      name, [&](const OtherLeader&) { waited = true; }, [] { return false; }));
  CHECK(waited);
  CHECK(second->epoch() == first->epoch() + 1);
  CHECK_FALSE(open->Commit().ok());
  open.reset();
  for (int i = 0; i < 3; ++i) CHECK_FALSE(mark(*old, "two").ok());
  auto now = Get(Store::Open(name));
  REQUIRE(second->Guard(now->database()).ok());
  CHECK(mark(*now, "three").ok());
  std::vector<std::string> names;
  for (const WorkerMark& row : Get(now->workers.Marks())) names.push_back(row.name);
  CHECK(names == std::vector<std::string>{"one", "three"});
}

TEST_CASE("PostgreSQL: a database that is copied is not taken by a server that starts meanwhile",
          "[.postgres][stores]") {
  if (!Places::postgres()) return;
  Places places;
  const std::string name = places.Name("copied");
  OwnDatabase own = Get(TakeDatabase(name));
  // A server that waits hears of it, for longer than it would wait for one that is silent.
  std::chrono::milliseconds silence{0};
  int heard = 0;
  const auto waiting = [&](const OtherLeader& leader) {
    if (leader.silence < silence) ++heard;
    silence = leader.silence;
  };
  const auto lead = Leadership::Take(name, waiting, [&] { return heard == 8; });
  CHECK(absl::IsCancelled(lead.status()));
  CHECK(own.StillOwn().ok());
  REQUIRE(own.store->database().Execute("UPDATE leader SET epoch = epoch + 1").ok());  // as another one does
  CHECK(absl::IsDataLoss(own.StillOwn()));
}

TEST_CASE("PostgreSQL: who takes the lead in one schema leaves the sessions of another's leader alone",
          "[.postgres][stores]") {
  if (!Places::postgres()) return;
  Places places;
  const std::string ours = places.Name("ours"), theirs = places.Name("theirs");
  const auto pid = [](Store& store) { return Get(store.database().QueryInt("SELECT pg_backend_pid()")); };
  auto led = Get(Leadership::TakeAtOnce(theirs));
  auto other = Get(Store::Open(theirs));
  REQUIRE(led->Guard(other->database()).ok());
  const int64_t before = pid(*other);
  std::unique_ptr<Store> former;
  // The first makes the epochs equal; the second ends the sessions of the first.
  for (int i = 0; i < 2; ++i) {
    auto lead = Get(Leadership::Take(
        ours, [](const OtherLeader&) {}, [] { return false; }));
    auto store = Get(Store::Open(ours));
    REQUIRE(lead->Guard(store->database()).ok());
    if (former != nullptr) CHECK_FALSE(former->database().QueryInt("SELECT 1").ok());
    if (i == 0) former = std::move(store);
  }
  CHECK(pid(*other) == before);
  CHECK(led->epoch() == 1);
}

TEST_CASE("PostgreSQL: a lost connection fails its transaction and is made anew", "[.postgres][stores]") {
  if (!Places::postgres()) return;
  Places places;
  const std::string name = places.Name("lost");
  auto store = Get(Store::Open(name));
  auto other = Get(Store::Open(name));
  const int64_t backend = Get(store->database().QueryInt("SELECT pg_backend_pid()"));
  const absl::Status status = store->Write([&] {
    absl::Status put = store->workers.PutMark({"one", Marked::kCordoned, "", 0});
    REQUIRE(
        other->database().Execute("SELECT pg_terminate_backend(" + std::to_string(backend) + ", 5000)").ok());
    return put;
  });
  INFO(status.ToString());
  CHECK(absl::IsUnavailable(status));
  CHECK(Get(other->workers.Marks()).empty());
  CHECK(store->Write([&] { return store->workers.PutMark({"two", Marked::kCordoned, "", 0}); }).ok());
  CHECK(Get(other->workers.Marks()).size() == 1);

  // The session ends while it is idle: the next read makes it anew.
  const int64_t idle = Get(store->database().QueryInt("SELECT pg_backend_pid()"));
  REQUIRE(other->database().Execute("SELECT pg_terminate_backend(" + std::to_string(idle) + ", 5000)").ok());
  CHECK(Get(store->workers.Marks()).size() == 1);
}

TEST_CASE("PostgreSQL: a database of another program, of a newer version or that is not there is refused",
          "[.postgres][stores]") {
  if (!Places::postgres()) return;
  Places places;
  const std::string others = places.Name("others");
  {
    auto database = Get(Database::Open(others, OpenMode::kReadWrite));
    REQUIRE(database->Execute("CREATE TABLE jobs (a INTEGER)").ok());
  }
  CHECK_THAT(std::string(Store::Open(others).status().message()), Catch::Contains("another program"));
  const std::string newer = places.Name("newer");
  {
    auto store = Get(Store::Open(newer));
    REQUIRE(store->database().Execute("UPDATE winnow_schema SET version = 1000").ok());
  }
  CHECK_THAT(std::string(Store::Open(newer).status().message()),
             Catch::Contains("written by a newer Winnow"));
  const std::string address = std::getenv("WINNOW_TEST_POSTGRES");
  const std::string none =
      address.substr(0, address.find("/postgres?")) + "/none?" + address.substr(address.find("host="));
  CHECK_THAT(std::string(Store::Open(none).status().message()), Catch::Contains("createdb"));
  auto store = Get(Store::Open(places.Name("rights")));
  REQUIRE(store->database()
              .Execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
              .ok());
  const std::string latin =
      address.substr(0, address.find("/postgres?")) + "/latin?" + address.substr(address.find("host="));
  CHECK_THAT(std::string(Store::Open(latin).status().message()), Catch::Contains("LATIN1; expected UTF8"));
  REQUIRE(store->database().Execute("CREATE ROLE guest LOGIN").ok());
  std::string guest = address;
  guest.replace(guest.find("winnow@"), 7, "guest@");
  const absl::Status refused = Store::Open(guest).status();
  CHECK(refused.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(refused.message()), Catch::Contains("schema"));
}

}  // namespace
}  // namespace winnow
