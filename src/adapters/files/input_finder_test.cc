#include "adapters/files/input_finder.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <thread>

#include "adapters/files/inputs_fixture.h"

namespace faultline {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

class InputFinderTest : public InputsTest {};

TEST_F(InputFinderTest, FoldersAreReadInNaturalOrderAndAllTheWayDown) {
  write("logs/n10/rank10.log", "ten");
  write("logs/n2/rank2.log", "two");
  write("logs/rank1.log", "one");
  write("logs/.hidden", "hidden");
  EXPECT_THAT(read({"logs/"}),
              ElementsAre(Pair("logs/.hidden", "hidden"), Pair("logs/n2/rank2.log", "two"),
                          Pair("logs/n10/rank10.log", "ten"), Pair("logs/rank1.log", "one")));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(InputFinderTest, TheOrderOfThePathsDoesNotMatter) {
  write("a/x", "1");
  write("b", "2");
  EXPECT_EQ(read({"a", "b"}), read({"b", "a"}));
}

TEST_F(InputFinderTest, TheCurrentFolderIsNotSaidInNames) {
  write("rank1.log", "one");
  EXPECT_THAT(read({"."}), ElementsAre(Pair("rank1.log", "one")));
}

TEST_F(InputFinderTest, WhatIsNamedTwiceIsReadOnce) {
  write("logs/rank1.log", "one");
  write("logs/deep/rank2.log", "two");
  fs::create_hard_link("logs/rank1.log", "logs/same.log");
  EXPECT_THAT(read({"logs/rank1.log", "logs", "logs/deep", "./logs", "logs/rank1.log"}),
              ElementsAre(Pair("logs/deep/rank2.log", "two"), Pair("logs/rank1.log", "one")));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(InputFinderTest, AFileSaysItsLengthAndTime) {
  write("rank1.log", "12345");
  visit({"rank1.log"}, [](const InputFile& file, InputReader&) {
    EXPECT_EQ(file.bytes, 5U);
    EXPECT_TRUE(known(file.modified));
    EXPECT_FALSE(file.packed);
  });
}

TEST_F(InputFinderTest, WhatIsNotThereIsNamedAndTheRestIsRead) {
  write("rank1.log", "one");
  EXPECT_THAT(read({"gone.log", "rank1.log"}), ElementsAre(Pair("rank1.log", "one")));
  EXPECT_THAT(warnings_, ElementsAre("gone.log: cannot be found: No such file or directory; "
                                     "left out: all of it"));
}

TEST_F(InputFinderTest, LinksInsideAreReadOnceUnderTheRealName) {
  write("logs/run1/rank1.log", "one");
  fs::create_directory_symlink("run1", "logs/latest");
  fs::create_symlink("run1/rank1.log", "logs/a.log");
  EXPECT_THAT(read({"logs"}), ElementsAre(Pair("logs/run1/rank1.log", "one")));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(InputFinderTest, ALinkToAFolderOutsideIsNamedAndNotFollowed) {
  write("other/secret", "secret");
  write("logs/rank1.log", "one");
  fs::create_directory_symlink("../other", "logs/out");
  EXPECT_THAT(read({"logs"}), ElementsAre(Pair("logs/rank1.log", "one")));
  ASSERT_THAT(warnings_, SizeIs(1));
  EXPECT_THAT(warnings_[0],
              testing::MatchesRegex("logs/out: is a link to /.*/other, outside of what was named; "
                                    "left out: all of it"));
}

TEST_F(InputFinderTest, ALinkToAFileOutsideIsReadOnceUnderItsOwnName) {
  write("pods/ml_train-0/0.log", "zero");
  fs::create_directory("containers");
  fs::create_symlink("../pods/ml_train-0/0.log", "containers/train-0.log");
  fs::create_symlink("train-0.log", "containers/train-0.again.log");
  fs::create_symlink("/dev/zero", "containers/zero");
  EXPECT_THAT(read({"containers"}), ElementsAre(Pair("containers/train-0.again.log", "zero")));
  ASSERT_THAT(warnings_, SizeIs(1)) << "a device is no file";
}

TEST_F(InputFinderTest, ALinkToWhatIsNamedTooDoesNotLeave) {
  write("elsewhere/rank2.log", "two");
  write("logs/rank1.log", "one");
  fs::create_symlink("../elsewhere/rank2.log", "logs/rank2.log");
  EXPECT_THAT(read({"logs", "elsewhere"}),
              ElementsAre(Pair("elsewhere/rank2.log", "two"), Pair("logs/rank1.log", "one")));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(InputFinderTest, LoopsAreNamed) {
  write("logs/deep/rank1.log", "one");
  fs::create_directory_symlink("..", "logs/deep/up");
  fs::create_symlink("self", "logs/self");
  fs::create_symlink("nothing", "logs/void");
  EXPECT_THAT(read({"logs"}), ElementsAre(Pair("logs/deep/rank1.log", "one")));
  EXPECT_THAT(warnings_,
              ElementsAre("logs/deep/up: is a link to a folder above it; left out: nothing: that "
                          "folder is read already",
                          "logs/self: is a link in a loop; left out: all of it",
                          "logs/void: is a link to nothing: No such file or directory; left out: "
                          "all of it"));
}

TEST_F(InputFinderTest, ALinkThatTheUserNamesIsFollowed) {
  write("real/rank1.log", "one");
  fs::create_directory_symlink("real", "latest");
  EXPECT_THAT(read({"latest"}), ElementsAre(Pair("latest/rank1.log", "one")));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(InputFinderTest, PipesSocketsAndDevicesInFoldersAreNamedAndNeverWaitedFor) {
  write("logs/rank1.log", "one");
  ASSERT_EQ(::mkfifo("logs/fifo", 0600), 0);
  const int door = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{AF_UNIX, "logs/socket"};
  ASSERT_EQ(::bind(door, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ::close(door);
  EXPECT_THAT(read({"logs", "/dev/zero"}), ElementsAre(Pair("logs/rank1.log", "one")));
  EXPECT_THAT(warnings_, ElementsAre("logs/fifo: is a pipe; left out: all of it",
                                     "logs/socket: is a socket; left out: all of it",
                                     "/dev/zero: is a device; left out: all of it"));
}

TEST_F(InputFinderTest, APipeThatTheUserNamesIsReadToItsEnd) {
  ASSERT_EQ(::mkfifo("fifo", 0600), 0);
  const auto listing = make_input_finder()->find({"fifo"});
  ASSERT_EQ(listing.sources.size(), 1U);
  // A writer that is there before the reader, as the shell's <(...) has it, and slower or not.
  const int hold = ::open("fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const int writer = ::open("fifo", O_WRONLY | O_CLOEXEC);
  std::string content;
  std::thread other([writer] {
    EXPECT_EQ(::write(writer, "one ", 4), 4);
    EXPECT_EQ(::write(writer, "two", 3), 3);
    ::close(writer);
  });
  listing.sources[0]->visit(
      [&](const InputFile&, InputReader& reader) { content = read_all(reader); },
      [](const InputWarning& warning) { ADD_FAILURE() << warning.what; });
  other.join();
  ::close(hold);
  EXPECT_EQ(content, "one two");
}

TEST_F(InputFinderTest, APipeWithoutAWriterIsEmptyAndNotWaitedFor) {
  ASSERT_EQ(::mkfifo("fifo", 0600), 0);
  EXPECT_THAT(read({"fifo"}), ElementsAre(Pair("fifo", "")));
}

TEST_F(InputFinderTest, NamesAreSafeToPrintAndStillOpened) {
  write("logs/\x1b[31mred\xff.log", "red");
  EXPECT_THAT(read({"logs"}), ElementsAre(Pair("logs/\uFFFD[31mred\uFFFD.log", "red")));
}

TEST_F(InputFinderTest, AnEmptyFileIsAStreamWithoutBytes) {
  write("empty.log", "");
  EXPECT_THAT(read({"empty.log"}), ElementsAre(Pair("empty.log", "")));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(InputFinderTest, AFileThatCannotBeOpenedIsNamed) {
  write("rank1.log", "one");
  write("rank2.log", "two");
  const auto listing = make_input_finder()->find({"."});
  fs::remove("rank1.log");  // a test that runs as root can open anything that is there
  fs::remove("rank2.log");
  fs::create_symlink("/etc/passwd", "rank2.log");
  for (const auto& source : listing.sources) {
    source->visit([](const InputFile& file, InputReader&) { ADD_FAILURE() << file.name; },
                  [&](const InputWarning& warning) { warnings_.push_back(warning.what); });
  }
  EXPECT_THAT(warnings_, ElementsAre("cannot be opened: No such file or directory",
                                     "cannot be opened: Too many levels of symbolic links"));
}

TEST_F(InputFinderTest, AFileThatGrowsIsReadAsLongAsItWas) {
  write("rank1.log", std::string(3000, 'a'));
  visit({"rank1.log"}, [](const InputFile&, InputReader& reader) {
    write("rank1.log", std::string(4000, 'a'));
    EXPECT_EQ(read_all(reader).size(), 3000U);
  });
  EXPECT_THAT(warnings_, ElementsAre("rank1.log: grew while it was read; left out: what follows "
                                     "byte 3000"));
}

TEST_F(InputFinderTest, AFileThatIsTruncatedIsNamed) {
  write("rank1.log", std::string(3000, 'a'));
  visit({"rank1.log"}, [](const InputFile&, InputReader& reader) {
    write("rank1.log", "");
    EXPECT_EQ(read_all(reader), std::string(512, 'a') + "<unavailable>");
    EXPECT_EQ(read_all(reader), "<unavailable>");
  });
  EXPECT_THAT(warnings_, ElementsAre("rank1.log: became shorter while it was read; left out: what "
                                     "follows byte 512"));
}

TEST_F(InputFinderTest, AFileThatIsWrittenOverIsNamed) {
  write("rank1.log", std::string(3000, 'a'));
  visit({"rank1.log"}, [](const InputFile&, InputReader& reader) {
    write("rank1.log", std::string(3000, 'b'));
    const timespec later[2] = {{0, UTIME_NOW}, {4'000'000'000, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, "rank1.log", later, 0), 0);
    EXPECT_EQ(read_all(reader).size(), 3000U);
  });
  EXPECT_THAT(warnings_, ElementsAre("rank1.log: changed while it was read; left out: what it said "
                                     "before or after"));
}

TEST_F(InputFinderTest, ASparseFileIsStreamed) {
  write("sparse.log", "head");
  const std::uint64_t bytes = 64ULL << 20;
  fs::resize_file("sparse.log", bytes);
  std::uint64_t seen = 0;
  visit({"sparse.log"}, [&](const InputFile& file, InputReader& reader) {
    EXPECT_EQ(file.bytes, bytes);
    std::string block(1 << 20, '\0');
    for (auto got = reader.read(block); got.ok() && *got > 0; got = reader.read(block))
      seen += *got;
  });
  EXPECT_EQ(seen, bytes);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(InputFinderTest, TooManyFilesAreSaidOnce) {
  for (const char* name : {"a", "b", "c", "d", "e"}) write(std::string("logs/") + name, name);
  folders_.files_max = 3;
  EXPECT_THAT(read({"logs"}), SizeIs(3));
  EXPECT_THAT(warnings_,
              ElementsAre(testing::HasSubstr(
                  "there are more than 3 files; left out: this one and all that follow")));
}

TEST_F(InputFinderTest, FoldersHaveADepthLimit) {
  write("1/2/3/deep", "deep");
  write("1/2/flat", "flat");
  folders_.depth_max = 1;
  EXPECT_THAT(read({"1"}), ElementsAre(Pair("1/2/flat", "flat")));
  EXPECT_THAT(warnings_, ElementsAre("1/2/3: lies more than 1 folders deep; left out: all of it"));
}

TEST_F(InputFinderTest, SourcesAreVisitedByThreadsAtOnce) {
  for (int i = 0; i < 8; ++i) {
    write("logs/rank" + std::to_string(i) + ".gz",
          gzip_of(std::string(100'000, static_cast<char>('a' + i))));
    write("logs/node" + std::to_string(i) + ".zip", zip_of({{"log", std::string(50'000, 'x')}}));
  }
  const auto listing = make_input_finder()->find({"logs"});
  std::vector<std::size_t> bytes(listing.sources.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < listing.sources.size(); ++i) {
    threads.emplace_back([&, i] {
      listing.sources[i]->visit(
          [&](const InputFile&, InputReader& reader) { bytes[i] = read_all(reader).size(); },
          [](const InputWarning&) {});
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 100'000U), 8);
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 50'000U), 8);
}

}  // namespace
}  // namespace faultline
