// SPDX-License-Identifier: MIT
#include "macho_der_builder.hpp"
#include "macho_signed.hpp"

#include <doctest/doctest.h>

using namespace metalrun;
using namespace metalrun::macho;
using namespace metalrun::tests;

namespace {

std::expected<CodeSignature, Malformed> read_entitlements(const std::string& xml,
                                                          const std::string& der) {
    Slots slots;
    if (!xml.empty()) {
        slots.emplace_back(5, make_blob(kMagicEntitlements, xml));
    }
    if (!der.empty()) {
        slots.emplace_back(7, make_blob(kMagicDerEntitlements, der));
    }
    slots.emplace(slots.begin(), 0, make_directory(code(), {.special = slots}));
    return read_slots(slots);
}

} // namespace

TEST_SUITE("macho.entitlements") {
    TEST_CASE("DER counts before XML, and a disagreement is noted") {
        const auto both =
            read_entitlements(xml_document("<key>a</key><true/>"), der_document(pair("a", kTrue)));
        REQUIRE_MESSAGE(both.has_value(), problem(both));
        CHECK(both->entitlements.source == EntitlementSource::der);
        CHECK(both->entitlements.is_true("a"));
        CHECK_FALSE(both->entitlements.disagree);
        const auto other =
            read_entitlements(xml_document("<key>a</key><true/>"), der_document(pair("a", kFalse)));
        CHECK_FALSE(other->entitlements.is_true("a"));
        CHECK(other->entitlements.disagree);
        const auto broken = read_entitlements(xml_document("<key>a</key><true/>"), "no DER");
        CHECK(broken->entitlements.source == EntitlementSource::xml);
        CHECK(broken->entitlements.disagree);
        CHECK_FALSE(read_entitlements("", "no DER").has_value());
        CHECK_FALSE(read_entitlements("no XML", "").has_value());
    }

    TEST_CASE("which forms are there is told, and why one cannot be read") {
        const std::string xml = xml_document("<key>a</key><true/>");
        const std::string der = der_document(pair("a", kTrue));
        const auto both = read_entitlements(xml, der);
        REQUIRE_MESSAGE(both.has_value(), problem(both));
        CHECK(both->entitlements.has_xml);
        CHECK(both->entitlements.has_der);
        CHECK(both->entitlements.xml_problem.empty());
        CHECK(both->entitlements.der_problem.empty());
        const auto only_der = read_entitlements("", der);
        REQUIRE(only_der.has_value());
        CHECK_FALSE(only_der->entitlements.has_xml);
        CHECK_FALSE(only_der->entitlements.disagree);
        CHECK(only_der->entitlements.is_true("a"));
        const auto only_xml = read_entitlements(xml, "");
        REQUIRE(only_xml.has_value());
        CHECK_FALSE(only_xml->entitlements.has_der);
        const auto none = read_directory({});
        REQUIRE(none.has_value());
        CHECK(none->entitlements == Entitlements{});
        struct Row {
            std::string xml;
            std::string_view words;
        };
        for (const Row& row :
             {Row{"bplist00\xd0", "binary property list"},
              Row{"<plist><array/></plist>", "'array', a dictionary was expected"},
              Row{"<!DOCTYPE x [<!ENTITY a \"b\">]><plist><dict/></plist>", "declare entities"}}) {
            const auto odd = read_entitlements(row.xml, der);
            REQUIRE_MESSAGE(odd.has_value(), problem(odd));
            CHECK(odd->entitlements.source == EntitlementSource::der);
            CHECK(odd->entitlements.disagree);
            CHECK(odd->entitlements.is_true("a"));
            CHECK_MESSAGE(odd->entitlements.xml_problem.find(row.words) != std::string::npos,
                          odd->entitlements.xml_problem);
            CHECK(problem(read_entitlements(row.xml, "")) == odd->entitlements.xml_problem);
        }
        const auto broken = read_entitlements(xml, "no DER");
        REQUIRE(broken.has_value());
        CHECK_FALSE(broken->entitlements.der_problem.empty());
    }

    TEST_CASE("the order of the keys is no disagreement") {
        const auto both = read_entitlements(xml_document("<key>a</key><true/><key>b</key><false/>"),
                                            der_document(pair("b", kFalse) + pair("a", kTrue)));
        REQUIRE(both.has_value());
        CHECK_FALSE(both->entitlements.disagree);
    }

    TEST_CASE("of XML only <true/> is true") {
        const auto entries = parse_xml_entitlements(bytes_of(xml_document(
            "<key>a</key><true/><key>b</key><string>true</string><key>c</key><integer>1</integer>"
            "<key>d</key><array><true/></array><key>e</key><dict/><key>f</key><false/>")));
        REQUIRE(entries.has_value());
        const Entitlements entitlements{.entries = *entries};
        CHECK(entitlements.is_true("a"));
        for (const char* key : {"b", "c", "d", "e", "f", "g"}) {
            CHECK_FALSE(entitlements.is_true(key));
        }
        CHECK(entitlements.find("b")->text == "true");
        CHECK(entitlements.find("e")->text == "dictionary");
    }

    TEST_CASE("a key given twice counts only if both say so") {
        const auto twice = parse_xml_entitlements(
            bytes_of(xml_document("<key>a</key><true/><key>a</key><false/>")));
        CHECK_FALSE(Entitlements{.entries = *twice}.is_true("a"));
    }

    TEST_CASE("XML that is no property list of a dictionary is refused") {
        for (const char* xml :
             {"<plist><array/></plist>", "<plist/>", "bplist00", "<dict><key>a</key>",
              "<plist><dict><true/></dict></plist>", "<plist><dict><key>a</key></dict></plist>",
              "<!DOCTYPE x [<!ENTITY a \"b\">]><plist><dict/></plist>"}) {
            CHECK_FALSE_MESSAGE(parse_xml_entitlements(bytes_of(xml)).has_value(), xml);
        }
        CHECK(parse_xml_entitlements({})->empty());
        CHECK(parse_xml_entitlements(bytes_of(xml_document("") + std::string(2, '\0')))->empty());
    }

    TEST_CASE("of DER only the boolean 0xff is true") {
        const std::string document = der_document(
            pair("a", kTrue) + pair("b", std::string("\x01\x01\x01", 3)) +
            pair("c", der(0x0c, "true")) + pair("d", std::string("\x02\x02\xff\x7f", 4)) +
            pair("e", der(0x30, kTrue)) + pair("f", der(0xb0, pair("x", kTrue))) +
            pair("g", der(0x04, "data")));
        const auto entries = parse_der_entitlements(bytes_of(document));
        REQUIRE_MESSAGE(entries.has_value(), entries.error().message);
        const Entitlements entitlements{.entries = *entries};
        CHECK(entitlements.is_true("a"));
        for (const char* key : {"b", "c", "d", "e", "f", "g", "x"}) {
            CHECK_FALSE(entitlements.is_true(key));
        }
        CHECK(entitlements.find("d")->text == "-129");
        CHECK(entitlements.find("e")->text == "array");
    }

    TEST_CASE("the older form, a bare set, is read too") {
        const auto entries = parse_der_entitlements(bytes_of(der(0x31, pair("a", kTrue))));
        REQUIRE(entries.has_value());
        CHECK(Entitlements{.entries = *entries}.is_true("a"));
    }

    TEST_CASE("DER that is not in its shortest form, or not of this shape, is refused") {
        const std::string good = der_document(pair("a", kTrue));
        CHECK(parse_der_entitlements(bytes_of(good)).has_value());
        for (std::size_t length = 0; length < good.size(); ++length) {
            CHECK_FALSE(parse_der_entitlements(bytes_of(good).first(length)).has_value());
        }
        CHECK_FALSE(parse_der_entitlements(bytes_of(good + '\0')).has_value());
        std::string version = good;
        version[4] = 2;
        CHECK_FALSE(parse_der_entitlements(bytes_of(version)).has_value());
        const std::string long_form = std::string("\x31\x81\x00", 3);
        CHECK_FALSE(parse_der_entitlements(bytes_of(long_form)).has_value());
        const std::string indefinite = std::string("\x31\x80\x00\x00", 4);
        CHECK_FALSE(parse_der_entitlements(bytes_of(indefinite)).has_value());
        CHECK_FALSE(parse_der_entitlements(bytes_of(der_document(kTrue))).has_value());
        CHECK_FALSE(
            parse_der_entitlements(bytes_of(der_document(pair("a", der(0x05, ""))))).has_value());
        std::string deep;
        for (int i = 0; i < 100; ++i) {
            deep = der(0x30, deep);
        }
        CHECK_FALSE(parse_der_entitlements(bytes_of(der_document(pair("a", deep)))).has_value());
    }
}
