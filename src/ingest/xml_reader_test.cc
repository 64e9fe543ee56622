#include "ingest/xml_reader.h"

#include <gtest/gtest.h>

#include <string>

namespace faultline {
namespace {

/// "+name", "text", "-name", "." at the end, "!" where it breaks off.
std::string steps(std::string_view document) {
  XmlReader reader(document);
  std::string out;
  while (true) {
    switch (reader.next()) {
      case XmlReader::Step::open: out += "+" + std::string(reader.name()) + " "; break;
      case XmlReader::Step::text: out += reader.text() + " "; break;
      case XmlReader::Step::close: out += "-" + std::string(reader.name()) + " "; break;
      case XmlReader::Step::end: return out + ".";
      case XmlReader::Step::broken: return out + "!";
    }
  }
}

TEST(XmlReader, TellsElementsAndText) {
  EXPECT_EQ(steps("<?xml version=\"1.0\" ?>\n<!DOCTYPE a SYSTEM \"a.dtd\">\n<a>\n <b>x y</b><c/>\n"
                  "<!-- <d> --></a>\n"),
            "+a +b x y -b +c -c -a .");
  EXPECT_EQ(steps("<a>1</a><a>2</a>"), "+a 1 -a +a 2 -a .") << "one document after the other";
}

TEST(XmlReader, ResolvesTheFiveEntitiesAlone) {
  EXPECT_EQ(steps("<a>&lt;&amp;&gt;&quot;&apos;</a>"), "+a <&>\"' -a .");
  EXPECT_EQ(steps("<a>&lol;</a>"), "+a !");
  EXPECT_EQ(steps("<a>&#65;</a>"), "+a !");
  EXPECT_EQ(steps("<a>&</a>"), "+a !");
}

TEST(XmlReader, RefusesADocumentTypeWithRules) {
  EXPECT_EQ(steps("<!DOCTYPE a [<!ENTITY l \"ll\">]><a>&l;</a>"), "!");
}

TEST(XmlReader, BreaksOffWhereElementsDoNotFit) {
  EXPECT_EQ(steps("<a><b></a>"), "+a +b !");
  EXPECT_EQ(steps("</a>"), "!");
  EXPECT_EQ(steps("<a>"), "+a !");
  EXPECT_EQ(steps("<a"), "!");
  EXPECT_EQ(steps("<a><!-- "), "+a !");
  EXPECT_EQ(steps("< a>"), "!") << "a name comes first";
}

TEST(XmlReader, NestsToALimit) {
  const auto nested = [](std::size_t depth) {
    std::string text;
    for (std::size_t i = 0; i < depth; ++i) text += "<a>";
    for (std::size_t i = 0; i < depth; ++i) text += "</a>";
    return steps(text).back();
  };
  EXPECT_EQ(nested(xml_depth_max), '.');
  EXPECT_EQ(nested(xml_depth_max + 1), '!');
}

TEST(XmlReader, ReadsAttributes) {
  XmlReader reader("<gpu id=\"0000:3b:00.0\" b = 'c'>");
  reader.next();
  EXPECT_EQ(reader.attribute("id"), "0000:3b:00.0");
  EXPECT_EQ(reader.attribute("none"), "");
  XmlReader odd("<gpu id=\"3b>");
  odd.next();
  EXPECT_EQ(odd.attribute("id"), "") << "without its end";
  XmlReader bare("<gpu id=>");
  bare.next();
  EXPECT_EQ(bare.attribute("id"), "");
}

}  // namespace
}  // namespace faultline
