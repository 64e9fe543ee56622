#include "ingest/pickle.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/fixtures/flight_recorder_writer.h"
#include "tests/fixtures/tree_text.h"

namespace faultline {
namespace {

using namespace std::string_literals;

/// What it says, or the error.
std::string read(const std::string& bytes, const TreeLimits& limits = {}) {
  const auto tree = read_pickle(bytes, limits);
  return tree ? TreeText::of(tree->root()) : tree.error().message;
}

ErrorCode error_of(const std::string& bytes, const TreeLimits& limits = {}) {
  const auto tree = read_pickle(bytes, limits);
  EXPECT_FALSE(tree.ok()) << TreeText::of(tree.value().root());
  return tree ? ErrorCode::internal : tree.error().code;
}

struct Written {
  std::string bytes, meaning;
};

TEST(PickleTest, EachOpcodeOfPlainData) {
  const std::vector<Written> all = {
      {"N.", "None"},
      {"\x88.", "True"},
      {"\x89.", "False"},
      {"I01\n.", "True"},
      {"I00\n.", "False"},
      {"I-12\n.", "-12"},
      {"I1\n.", "1"},
      {"L123L\n.", "123"},
      {"L-9223372036854775808L\n.", "-9223372036854775808"},
      {"L9223372036854775808L\n.", "big"},
      {"K\xff.", "255"},
      {"M\x01\x02.", "513"},
      {"J\xff\xff\xff\xff.", "-1"},
      {"J\x00\x00\x00\x80."s, "-2147483648"},
      {"\x8a\x00."s, "0"},
      {"\x8a\x01\xff.", "-1"},
      {"\x8a\x02\xff\x00."s, "255"},
      {"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f.", "9223372036854775807"},
      {"\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01."s, "big"},
      {"\x8b\x01\x00\x00\x00\x07."s, "7"},
      {"G\x3f\xf8\x00\x00\x00\x00\x00\x00."s, "1.500000"},
      {"F-2.25\n.", "-2.250000"},
      {"X\x02\x00\x00\x00hi."s, "'hi'"},
      {"\x8c\x02hi.", "'hi'"},
      {"\x8d\x02\x00\x00\x00\x00\x00\x00\x00hi."s, "'hi'"},
      {"T\x02\x00\x00\x00hi."s, "'hi'"},
      {"U\x02hi.", "'hi'"},
      {"Vhi\n.", "'hi'"},
      {"V\n.", "''"},
      {"V\\u00e4\\u20ac\\U0001f600\\u12\n.", "'\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\\u12'"},
      {"V\xe4\n.", "'\xc3\xa4'"},
      {"S'it\\'s \\x41\\n\\q\\'\n.", "'it's A\n\\q\\'"},
      {"S\"hi\"\n.", "'hi'"},
      {"B\x02\x00\x00\x00hi."s, "bytes"},
      {"C\x02hi.", "bytes"},
      {"\x8e\x02\x00\x00\x00\x00\x00\x00\x00hi."s, "bytes"},
      {"\x96\x02\x00\x00\x00\x00\x00\x00\x00hi."s, "bytes"},
      {"].", "[]"},
      {").", "[]"},
      {"}.", "{}"},
      {"\x8f.", "[]"},
      {"]K\x01"s + "a.", "[1]"},
      {"](K\x01K\x02"s + "e.", "[1, 2]"},
      {"\x8f(K\x01K\x02\x90.", "[1, 2]"},
      {"(K\x01K\x02\x91.", "[1, 2]"},
      {"(K\x01K\x02t.", "[1, 2]"},
      {"(K\x01K\x02l.", "[1, 2]"},
      {"K\x01\x85.", "[1]"},
      {"K\x01K\x02\x86.", "[1, 2]"},
      {"K\x01K\x02K\x03\x87.", "[1, 2, 3]"},
      {"(Va\nK\x01"s + "d.", "{'a': 1}"},
      {"}Va\nK\x01s.", "{'a': 1}"},
      {"}(Va\nK\x01Vb\nK\x02u.", "{'a': 1, 'b': 2}"},
      {"(t.", "[]"},
      {"}(u.", "{}"},
      {"K\x01K\x02"s + "0.", "1"},
      {"K\x01(K\x02"s + "1.", "1"},
      {"K\x01(0.", "1"},
      {"K\x01"s + "2\x86.", "[1, 1]"},
      {"Va\nq\x05h\x05\x86.", "['a', 'a']"},
      {"Va\nr\x00\x01\x00\x00j\x00\x01\x00\x00\x86."s, "['a', 'a']"},
      {"Va\np7\ng7\n\x86.", "['a', 'a']"},
      {"Va\n\x94Vb\n\x94h\x00h\x01\x86."s, "['a', 'b']"},
      {"\x80\x05\x95\x02\x00\x00\x00\x00\x00\x00\x00N."s, "None"},
      {"N.whatever comes after", "None"},
  };
  for (const Written& one : all) EXPECT_EQ(read(one.bytes), one.meaning) << one.bytes;
}

TEST(PickleTest, AnOpcodeThatWouldDoSomethingIsNamed) {
  const std::vector<Written> all = {
      {"cos\nsystem\n(S'id'\ntR.", "GLOBAL"},
      {"Vos\nVsystem\n\x93.", "STACK_GLOBAL"},
      {"N)R.", "REDUCE"},
      {"N}b.", "BUILD"},
      {"(ios\nsystem\n.", "INST"},
      {"(No.", "OBJ"},
      {"N)\x81.", "NEWOBJ"},
      {"N)}\x92.", "NEWOBJ_EX"},
      {"P7\n.", "PERSID"},
      {"NQ.", "BINPERSID"},
      {"\x82\x01.", "EXT1"},
      {"\x83\x01\x01.", "EXT2"},
      {"\x84\x01\x01\x01\x01.", "EXT4"},
      {"\x97.", "NEXT_BUFFER"},
      {"N\x98.", "READONLY_BUFFER"},
  };
  for (const Written& one : all) {
    EXPECT_EQ(error_of(one.bytes), ErrorCode::invalid_argument) << one.meaning;
    EXPECT_NE(read(one.bytes).find("(" + one.meaning + ")"), std::string::npos) << read(one.bytes);
  }
  EXPECT_EQ(read("N(N)\x81."),
            "pickle: it wants to make an object (NEWOBJ), and only plain data is read; at byte 4");
}

TEST(PickleTest, WhatContradictsItself) {
  for (const std::string& bytes : std::vector<std::string>{"\xff.",
                                                           ".",
                                                           "a.",
                                                           "Na.",
                                                           "NNa.",
                                                           "]Ns.",
                                                           "}Na.",
                                                           "(Nd.",
                                                           "}(Nu.",
                                                           "}Ns.",
                                                           "NNe.",
                                                           "N(Ne.",
                                                           "e.",
                                                           "t.",
                                                           "1.",
                                                           "0.",
                                                           "2.",
                                                           "N\x86.",
                                                           "(NN(\x86.",
                                                           "h\x00."s,
                                                           "g0\n.",
                                                           "q\x00."s,
                                                           "Nq\x00h\x01."s,
                                                           "gx\n.",
                                                           "I\n.",
                                                           "Ix\n.",
                                                           "L1x\n.",
                                                           "LL\n.",
                                                           "F\n.",
                                                           "S'\n.",
                                                           "Sa\n.",
                                                           "\x80\x06N.",
                                                           "N(."}) {
    EXPECT_EQ(error_of(bytes), ErrorCode::corrupt) << bytes << ": " << read(bytes);
  }
}

TEST(PickleTest, NothingIsReachableFromItself) {
  for (const std::string& bytes :
       std::vector<std::string>{"]q\x00h\x00"s + "a.",                    // [itself]
                                "]q\x00(h\x00"s + "e.",                   //
                                "]2a.",                                   //
                                "}q\x00Va\nh\x00s."s,                     // {'a': itself}
                                "]q\x00]q\x01"s + "ah\x01h\x00"s + "a.",  // [[...]] by two
                                "]q\x00(h\x00t0h\x00N"s + "a."}) {  // changed after it was placed
    EXPECT_EQ(error_of(bytes), ErrorCode::corrupt) << bytes;
  }
  EXPECT_EQ(read("]q\x00(h\x00h\x00t."s), "[[], []]") << "one container in two places is fine";
}

TEST(PickleTest, ADictHasTheLastOfEqualKeys) {
  const std::string bytes = "}(Va\nK\x01Vb\nK\x02Va\nK\x03u.";
  const auto tree = read_pickle(bytes);
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(tree->root().find("a").integer(), 3);
  EXPECT_EQ(tree->root().find("b").integer(), 2);
  EXPECT_EQ(tree->root().find("c").kind(), TreeValue::Kind::absent);
}

TEST(PickleTest, TextIsNotCopiedAndContainersSayWhereTheyBegin) {
  const std::string bytes = "](X\x02\x00\x00\x00hi}Va\nNse."s;
  const auto tree = read_pickle(bytes);
  ASSERT_TRUE(tree.ok());
  const auto items = tree->root().items();
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].text().data(), bytes.data() + 7);
  EXPECT_EQ(items[1].offset(), 9U);
  EXPECT_NE(items[1].number(), tree->root().number());
  EXPECT_LT(items[1].number(), tree->containers());
}

/// A dict with everything in it, as each protocol spells it.
std::string sample(int protocol) {
  PicklePen pen(protocol);
  pen.begin_dict();
  pen.text("name");
  pen.text("nccl:all_reduce\nwith \\ and a long text " + std::string(300, 'x'));
  pen.text("numbers");
  pen.begin_list();
  for (const std::int64_t number : {0L, 255L, 256L, 65536L, -1L, 1795981706966081304L})
    pen.integer(number);
  pen.end();
  pen.text("pair");
  pen.begin_tuple();
  pen.text("name");
  pen.boolean(true);
  pen.none();
  pen.end();
  pen.end();
  return pen.finish();
}

TEST(PickleTest, AllProtocolsSayTheSame) {
  const std::string expected = "{'name': 'nccl:all_reduce\nwith \\ and a long text " +
                               std::string(300, 'x') +
                               "', 'numbers': [0, 255, 256, 65536, -1, 1795981706966081304], "
                               "'pair': ['name', True, None]}";
  for (int protocol = 0; protocol <= 5; ++protocol)
    EXPECT_EQ(read(sample(protocol)), expected) << protocol;
}

TEST(PickleTest, CutAtAnyByteItIsAnError) {
  for (int protocol = 0; protocol <= 5; ++protocol) {
    const std::string whole = sample(protocol);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      // A copy of its own, so that a sanitizer sees a read beyond its end.
      const std::vector<char> part(whole.begin(),
                                   whole.begin() + static_cast<std::ptrdiff_t>(size));
      const auto tree = read_pickle({part.data(), part.size()});
      ASSERT_FALSE(tree.ok()) << "protocol " << protocol << ", " << size << " bytes";
      ASSERT_EQ(tree.error().code, ErrorCode::corrupt);
    }
  }
}

TEST(PickleTest, AnyOneBitChangedIsSurvived) {
  for (int protocol = 0; protocol <= 5; ++protocol) {
    const std::string whole = sample(protocol);
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      std::string changed = whole;
      changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
      const auto tree = read_pickle(changed);
      if (tree) TreeText::of(tree->root());
    }
  }
}

// --- limits ---

TEST(PickleTest, DepthIsLimited) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, ']') + std::string(depth - 1, 'a') + ".";
  };
  EXPECT_TRUE(read_pickle(nested(64)).ok());
  EXPECT_EQ(error_of(nested(65)), ErrorCode::exhausted);
  EXPECT_EQ(error_of(nested(1'000'000)), ErrorCode::exhausted);
  EXPECT_EQ(error_of(std::string(1'000'000, '(')), ErrorCode::exhausted);
  std::string tuples = "N";
  for (int i = 0; i < 1000; ++i) tuples += '\x85';
  EXPECT_EQ(error_of(tuples + "."), ErrorCode::exhausted);
}

TEST(PickleTest, AHugeLengthReservesNothing) {
  for (const std::string& bytes : std::vector<std::string>{
           "X\xff\xff\xff\xffhi.", "\x8d\xff\xff\xff\xff\xff\xff\xff\xffhi.",
           "\x8d\x00\x00\x00\x00\x00\x00\x00\x80hi."s, "B\xff\xff\xff\x7fhi.",
           "\x8b\xff\xff\xff\xff"
           "hi.",
           "\x95\xff\xff\xff\xff\xff\xff\xff\xffN.", "\x96\xff\xff\xff\xff\xff\xff\xff\xffN."}) {
    EXPECT_EQ(error_of(bytes), ErrorCode::corrupt) << read(bytes);
  }
  EXPECT_EQ(error_of("Nr\xff\xff\xff\xff."), ErrorCode::exhausted) << "memo";
  EXPECT_EQ(error_of("Np4294967295\n."), ErrorCode::exhausted);
}

TEST(PickleTest, EachLimitHolds) {
  TreeLimits limits;
  limits.input_bytes_max = 4;
  EXPECT_TRUE(read_pickle("NN0.", limits).ok());
  EXPECT_EQ(error_of("NNN0.", limits), ErrorCode::exhausted);

  limits = {};
  limits.stack_values_max = 3;
  EXPECT_TRUE(read_pickle("NNN.", limits).ok());
  EXPECT_EQ(error_of("NNNN.", limits), ErrorCode::exhausted);

  limits = {};
  limits.memo_entries_max = 2;
  EXPECT_TRUE(read_pickle("N\x94N\x94.", limits).ok());
  EXPECT_EQ(error_of("N\x94N\x94N\x94.", limits), ErrorCode::exhausted);

  limits = {};
  limits.text_bytes_max = 3;
  EXPECT_TRUE(read_pickle("Vabc\n.", limits).ok());
  EXPECT_EQ(error_of("Vabcd\n.", limits), ErrorCode::exhausted);
  EXPECT_TRUE(read_pickle("\x8c\x03"s + "abc.", limits).ok());
  EXPECT_EQ(error_of("\x8c\x04"s + "abcd.", limits), ErrorCode::exhausted);

  limits = {};
  limits.tree_bytes_max = 1024;
  EXPECT_TRUE(read_pickle("(" + std::string(40, 'N') + "t.", limits).ok());
  EXPECT_EQ(error_of("(" + std::string(64, 'N') + "t.", limits), ErrorCode::exhausted);
  EXPECT_EQ(error_of(std::string(64, ']') + ".", limits), ErrorCode::exhausted);
  EXPECT_EQ(error_of("V" + std::string(1025, '\xe4') + "\n.", limits), ErrorCode::exhausted);
}

TEST(PickleTest, AListThatGrowsOneByOneIsKept) {
  std::string bytes = "]";
  for (int i = 0; i < 1000; ++i) bytes += "K\x07"s + "a";
  const auto tree = read_pickle(bytes + ".");
  ASSERT_TRUE(tree.ok());
  ASSERT_EQ(tree->root().items().size(), 1000U);
  for (const TreeValue& item : tree->root().items()) ASSERT_EQ(item.integer(), 7);
}

TEST(PickleTest, WhatIsReferredToOftenStandsOnce) {
  // Each list holds the one before twice: 2^60 paths, 60 containers.
  std::string bytes = "]q\x00"s;
  for (int i = 0; i < 60; ++i) bytes += "2\x86q\x00"s;
  const auto tree = read_pickle(bytes + ".");
  ASSERT_TRUE(tree.ok());
  EXPECT_EQ(tree->containers(), 61U);
  EXPECT_LT(TreeText::of(tree->root(), 1000).size(), 10'000U);
}

}  // namespace
}  // namespace faultline
