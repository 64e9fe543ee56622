#include "adapters/files/unpack.h"

#include <fmt/format.h>

#include "adapters/files/inputs_fixture.h"

namespace faultline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::StartsWith;

constexpr std::size_t rank3_bytes = 175'672;  // of tests/fixtures/packed/rank3.log.*

class UnpackTest : public InputsTest {
 protected:
  /// All that `content` unpacks to, as the file "run", and what was warned of.
  Members unpacked(const std::string& content) {
    write("run", content);
    warnings_.clear();
    return read({"run"});
  }
};

TEST_F(UnpackTest, WhatAFileIsFollowsFromItsContent) {
  write("rank1.gz", "plain");
  write("rank2.log", gzip_of("packed"));
  EXPECT_THAT(read({"."}), ElementsAre(Pair("rank1.gz", "plain"), Pair("rank2.log", "packed")));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(UnpackTest, EveryCompressionGivesTheSameLog) {
  for (const char* name : {"rank3.log.xz", "rank3.log.bz2", "rank3.log.zst"}) {
    write(name, fixture(name));
    const auto streams = read({name});
    ASSERT_THAT(streams, SizeIs(1)) << name;
    EXPECT_EQ(streams[0].first, name);
    EXPECT_EQ(streams[0].second.size(), rank3_bytes) << name;
    EXPECT_THAT(streams[0].second, StartsWith("[rank3]: step 0 loss 1000\n"));
  }
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(UnpackTest, MembersComeInSequenceUnderTheArchivesName) {
  const Members logs{{"logs/rank0.log", "zero"}, {"logs/empty", ""}, {"logs/rank1.log", "one"}};
  const auto expected = ElementsAre(Pair("run/logs/rank0.log", "zero"), Pair("run/logs/empty", ""),
                                    Pair("run/logs/rank1.log", "one"));
  EXPECT_THAT(unpacked(tar_of(logs)), expected);
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_THAT(unpacked(gzip_of(tar_of(logs))), expected);
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_THAT(unpacked(zip_of(logs)), expected);
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_THAT(unpacked(fixture("run.tar.zst")), ElementsAre(Pair("run/logs/rank0.log", "zero\n"),
                                                            Pair("run/logs/rank1.log", "one\n")));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(UnpackTest, AZipThatCameThroughAPipe) {
  const auto streams = unpacked(fixture("streamed.zip"));
  ASSERT_THAT(streams, SizeIs(2));
  EXPECT_EQ(streams[0].second.size(), 500U);
  EXPECT_EQ(streams[1].first, "run/logs/r\u00e4nk1.log");
  EXPECT_EQ(streams[1].second.size(), 400U);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(UnpackTest, MembersSayTheirLengthAndTime) {
  write("run.tar", tar_of({{"rank0.log", "12345"}}));
  visit({"run.tar"}, [](const InputFile& file, InputReader&) {
    EXPECT_EQ(file.bytes, 5U);
    EXPECT_EQ(file.modified, Instant{std::chrono::seconds{015112345670}});
    EXPECT_TRUE(file.packed);
  });
}

TEST_F(UnpackTest, ArchivesInArchives) {
  const auto inner = gzip_of(tar_of({{"rank0.log.gz", gzip_of("zero")}}));
  EXPECT_THAT(unpacked(zip_of({{"n1.tgz", inner}, {"last", "last"}})),
              ElementsAre(Pair("run/n1.tgz/rank0.log.gz", "zero"), Pair("run/last", "last")));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(UnpackTest, LayersHaveALimit) {
  std::string packed = "deep";
  for (int i = 0; i < 7; ++i) packed = gzip_of(packed);
  EXPECT_THAT(unpacked(packed), IsEmpty());
  EXPECT_THAT(warnings_, ElementsAre("run: is packed more than 6 times; left out: all of it"));
}

TEST_F(UnpackTest, WhatIsLeftUnreadIsPassedOver) {
  write("run", tar_of({{"big", std::string(200'000, 'x')}, {"small", "small"}}));
  std::vector<std::string> names;
  visit({"run"}, [&](const InputFile& file, InputReader&) { names.push_back(file.name); });
  EXPECT_THAT(names, ElementsAre("run/big", "run/small"));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(UnpackTest, EmptyArchivesHoldNothing) {
  EXPECT_THAT(unpacked(gzip_of("")), ElementsAre(Pair("run", "")));
  EXPECT_THAT(unpacked(zip_of({})), IsEmpty());
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(UnpackTest, SeveralGzipStreamsAreOne) {
  EXPECT_THAT(unpacked(gzip_of("one ") + gzip_of("two") + std::string(100, '\0')),
              ElementsAre(Pair("run", "one two")));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(UnpackTest, WhatFollowsAGzipStreamIsNamed) {
  EXPECT_THAT(unpacked(gzip_of("one") + "and then text"), ElementsAre(Pair("run", "one<corrupt>")));
  EXPECT_THAT(warnings_, ElementsAre("run: other bytes follow the gzip stream; left out: what "
                                     "follows byte 3"));
}

/// Lines that hardly compress, so that a cut falls between them.
std::string noisy_log() {
  std::string log;
  std::uint64_t state = 1;
  for (int i = 0; i < 4000; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    log += fmt::format("[rank3]: step {} loss {:016x}\n", i, state);
  }
  return log;
}

TEST_F(UnpackTest, OfAGzipThatWasCutAllBeforeTheCutIsRead) {
  const std::string log = noisy_log();
  const std::string packed = gzip_of(log);
  const auto streams = unpacked(packed.substr(0, packed.size() * 9 / 10));
  ASSERT_THAT(streams, SizeIs(1));
  EXPECT_GT(streams[0].second.size(), log.size() * 8 / 10);
  EXPECT_THAT(streams[0].second, testing::EndsWith("<corrupt>"));
  EXPECT_THAT(log, StartsWith(streams[0].second.substr(0, streams[0].second.size() - 9)));
  EXPECT_THAT(warnings_, ElementsAre(fmt::format("run: the gzip stream is cut off; left out: what "
                                                 "follows byte {}",
                                                 streams[0].second.size() - 9)));
}

TEST_F(UnpackTest, AByteThatFlippedInAGzipIsNamed) {
  std::string packed = gzip_of(noisy_log());
  packed[packed.size() / 2] ^= 0x10;
  const auto streams = unpacked(packed);
  ASSERT_THAT(streams, SizeIs(1));
  EXPECT_THAT(warnings_, ElementsAre(StartsWith("run: the gzip stream is damaged: ")));
}

TEST_F(UnpackTest, OfOtherCompressionsThatWereCutTheStartIsReadAndTheRestNamed) {
  for (const char* name : {"rank3.log.xz", "rank3.log.zst"}) {
    const auto packed = fixture(name);
    const auto streams = unpacked(packed.substr(0, packed.size() - 5));
    EXPECT_THAT(streams, SizeIs(testing::Le(1U))) << name;
    EXPECT_THAT(warnings_, ElementsAre(HasSubstr("run: is damaged"))) << name;
  }
}

TEST_F(UnpackTest, AnArchiveThatWasCutGivesWhatCameBefore) {
  const auto tar = tar_of({{"a", "first"}, {"b", noisy_log()}, {"c", "last"}});
  const auto cut = unpacked(tar.substr(0, 3000));
  ASSERT_THAT(cut, SizeIs(2));
  EXPECT_THAT(cut[0], Pair("run/a", "first"));
  EXPECT_THAT(cut[1].second, StartsWith("[rank3]: step 0 loss"));
  EXPECT_THAT(warnings_,
              ElementsAre(HasSubstr("run/b: is damaged: "),
                          "run: cannot be read beyond run/b; left out: what follows in it"));
  const auto packed = gzip_of(tar);
  EXPECT_THAT(unpacked(packed.substr(0, packed.size() / 2)), SizeIs(2));
  EXPECT_THAT(warnings_,
              ElementsAre(testing::MatchesRegex(
                  "run/b: the gzip stream is cut off; left out: what follows byte [0-9]+ "
                  "of run")));
}

TEST_F(UnpackTest, DamageBelowAnArchiveIsNamedOnceAndThere) {
  const auto tar = tar_of({{"a", "first"}, {"b", "second"}});
  EXPECT_THAT(unpacked(gzip_of(tar.substr(0, 1024)) + "no gzip"),
              ElementsAre(Pair("run/a", "first")));
  EXPECT_THAT(warnings_, ElementsAre("run: other bytes follow the gzip stream; left out: what "
                                     "follows byte 1024"));
}

TEST_F(UnpackTest, AHeaderThatIsDamagedEndsTheArchive) {
  auto tar = tar_of({{"a", "first"}, {"b", "second"}});
  tar[1024 + 150] = '!';
  EXPECT_THAT(unpacked(tar), ElementsAre(Pair("run/a", "first")));
  EXPECT_THAT(warnings_, ElementsAre(testing::AllOf(StartsWith("run: is damaged: "),
                                                    HasSubstr("left out: what follows in it"))));
}

TEST_F(UnpackTest, AMemberWhoseSumIsWrongIsNamedAndTheNextIsRead) {
  auto zip = zip_of({{"a", "first"}, {"b", "second"}});
  zip[zip.find("first")] = 'F';
  const auto streams = unpacked(zip);
  EXPECT_THAT(streams, ElementsAre(Pair("run/a", "First<corrupt>"), Pair("run/b", "second")));
  EXPECT_THAT(warnings_, ElementsAre(StartsWith("run/a: is damaged: ")));
}

TEST_F(UnpackTest, AnEncryptedMemberIsNamedAndTheRestIsRead) {
  EXPECT_THAT(unpacked(fixture("encrypted.zip")), ElementsAre(Pair("run/open.log", "open\n")));
  EXPECT_THAT(warnings_, ElementsAre("run/secret.log: is encrypted; left out: all of it"));
}

TEST_F(UnpackTest, NamesOfMembersAreOnlyShown) {
  EXPECT_THAT(unpacked(tar_of({{"/etc/passwd", "x"}, {"../../up", "y"}, {"\x1b[2J\xff", "z"}})),
              ElementsAre(Pair("run//etc/passwd", "x"), Pair("run/../../up", "y"),
                          Pair("run/\uFFFD[2J\uFFFD", "z")));
  EXPECT_FALSE(fs::exists("../../up"));
}

TEST_F(UnpackTest, LinksAndDevicesInAnArchiveHoldNoBytesAndAreCounted) {
  const auto tar = tar_member("link", "", '2') + tar_member("fifo", "", '6') +
                   tar_member("folder/", "", '5') + tar_of({{"a", "first"}});
  EXPECT_THAT(unpacked(tar), ElementsAre(Pair("run/a", "first")));
  EXPECT_THAT(warnings_, ElementsAre("run: holds links or devices: 2; left out: those"));
}

TEST_F(UnpackTest, HolesInAMemberAreZeros) {
  const auto streams = unpacked(fixture("sparse.tar.xz"));
  ASSERT_THAT(streams, SizeIs(1));
  std::string expected(1 << 20, '\0');
  expected.replace(0, 5, "head\n");
  EXPECT_EQ(streams[0].second, expected + "tail\n");
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(UnpackTest, ABombIsLeftWhenItPassesItsRatio) {
  unpack_.ratio_free_bytes = 100'000;
  const auto bomb = gzip_of(std::string(8'000'000, '\0'));
  const auto streams = unpacked(bomb);
  ASSERT_THAT(streams, SizeIs(1));
  EXPECT_LT(streams[0].second.size(), 6'000'000U);
  EXPECT_THAT(warnings_,
              ElementsAre(StartsWith("run: unpacks to more than 500 times its size; left out: what "
                                     "follows byte ")));
}

TEST_F(UnpackTest, ABombThatNobodyReadsIsLeftToo) {
  unpack_.ratio_free_bytes = 100'000;
  write("run", tar_of({{"bomb.gz", gzip_of(gzip_of(std::string(8'000'000, '\0')))}}));
  visit({"run"}, [](const InputFile&, InputReader&) {});
  EXPECT_THAT(warnings_, IsEmpty());  // what nobody reads of a compressed file is not unpacked
  write("run", gzip_of(tar_of({{"a", std::string(8'000'000, '\0')}, {"b", "never"}})));
  std::vector<std::string> names;
  visit({"run"}, [&](const InputFile& file, InputReader&) { names.push_back(file.name); });
  EXPECT_THAT(names, ElementsAre("run/a"));
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("unpacks to more than 500 times its size"),
                                     "run: unpacks to too much; left out: what follows a in it"));
}

TEST_F(UnpackTest, ALogThatRepeatsItselfIsNoBomb) {
  std::string log;
  while (log.size() < 3'000'000) log += "[rank3]: NCCL WARN the same line over and over again\n";
  unpack_.ratio_free_bytes = 100'000;
  EXPECT_THAT(unpacked(gzip_of(log)), ElementsAre(Pair("run", log)));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(UnpackTest, AllThatOneSourceUnpacksToHasALimit) {
  unpack_.source_bytes_max = 1000;
  const auto streams =
      unpacked(tar_of({{"a", std::string(600, 'a')}, {"b", std::string(600, 'b')}, {"c", "c"}}));
  ASSERT_THAT(streams, SizeIs(2));
  EXPECT_THAT(streams[1].second, testing::EndsWith("<exhausted>"));
  EXPECT_THAT(warnings_, ElementsAre(StartsWith("run/b: unpacks to more than 1000 bytes"),
                                     "run: unpacks to too much; left out: what follows b in it"));
}

TEST_F(UnpackTest, OneStreamHasALimit) {
  unpack_.member_bytes_max = 1000;
  const std::string most(1000, 'a');
  EXPECT_THAT(
      unpacked(tar_of({{"a", most}, {"b", most + "b"}, {"c", "c"}})),
      ElementsAre(Pair("run/a", most), Pair("run/b", most + "<exhausted>"), Pair("run/c", "c")));
  EXPECT_THAT(warnings_, ElementsAre("run/b: is too long for one unpacked file; left out: what "
                                     "follows byte 1000"));
  EXPECT_THAT(unpacked(most + most), ElementsAre(Pair("run", most + most)));  // it is not packed
}

TEST_F(UnpackTest, MembersHaveALimit) {
  unpack_.members_max = 2;
  EXPECT_THAT(unpacked(zip_of({{"a", "1"}, {"b", "2"}, {"c", "3"}})), SizeIs(2));
  EXPECT_THAT(warnings_, ElementsAre("run: has more than 2 members; left out: what follows in it"));
}

TEST_F(UnpackTest, ACheckpointIsNotUnpacked) {
  const auto checkpoint = zip_of({{"step_1000/data.pkl", "pickled"}, {"step_1000/data/0", "1234"}});
  EXPECT_THAT(unpacked(checkpoint), ElementsAre(Pair("run", checkpoint)));
  EXPECT_THAT(unpacked(zip_of({{"data.pkl", "pickled"}})),
              ElementsAre(Pair("run/data.pkl", "pickled")));
}

TEST_F(UnpackTest, TextThatBeginsLikeAnArchiveIsText) {
  for (const std::string text : {"BZh9 is how bzip2 begins", "PK", "\x1f", "7zXZ"}) {
    EXPECT_THAT(unpacked(text), ElementsAre(Pair("run", text)));
  }
  const std::string zeros(2048, '\0');
  EXPECT_THAT(unpacked(zeros), ElementsAre(Pair("run", zeros)));
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(UnpackTest, WhatOnlyLooksPackedIsNamed) {
  EXPECT_THAT(unpacked(std::string("\x1f\x8b\x08") + "not gzip at all, but long enough to be"),
              IsEmpty());
  EXPECT_THAT(warnings_, ElementsAre(testing::AllOf(StartsWith("run: the gzip stream is damaged"),
                                                    HasSubstr("left out: all of it"))));
}

}  // namespace
}  // namespace faultline
