/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/chakra/chakra-json.h"

#include "contrib/rdma/core/shown-text.h"
#include "scenarios/formats/input-file.h"
#include "topologies/json-text.h"
#include "topologies/names.h"

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace formats
{

namespace
{

using nlohmann::json;

const std::array<const char*, 11> kNodeTypes = {"INVALID_NODE",
                                                "METADATA_NODE",
                                                "MEM_LOAD_NODE",
                                                "MEM_STORE_NODE",
                                                "COMP_NODE",
                                                "COMM_SEND_NODE",
                                                "COMM_RECV_NODE",
                                                "COMM_COLL_NODE",
                                                "STORAGE_NODE",
                                                "BATCH_NODE",
                                                "CHECKPOINT_NODE"};

/// Levels of nested objects; the formats have four.
constexpr int kMostDepth = 32;

/// A number, or the text of one.
std::optional<ChakraValue>
WholeOf(const json& value)
{
    ChakraValue whole;
    if (value.is_boolean())
    {
        whole.whole = value.get<bool>() ? 1 : 0;
        return whole;
    }
    if (value.is_number_unsigned())
    {
        const auto number = value.get<uint64_t>();
        whole.huge = number > INT64_MAX;
        whole.whole = whole.huge ? -1 : static_cast<int64_t>(number);
        return whole;
    }
    if (value.is_number_integer())
    {
        whole.whole = value.get<int64_t>();
        return whole;
    }
    if (value.is_string())
    {
        const auto& text = value.get_ref<const std::string&>();
        const auto [end, bad] =
            std::from_chars(text.data(), text.data() + text.size(), whole.whole);
        whole.huge = bad == std::errc::result_out_of_range && text[0] != '-';
        if (!text.empty() && end == text.data() + text.size() && (bad == std::errc() || whole.huge))
        {
            whole.whole = whole.huge ? -1 : whole.whole;
            return whole;
        }
    }
    return std::nullopt;
}

class JsonTraceReader
{
  public:
    JsonTraceReader(const std::string& file,
                    std::vector<ChakraNode>* nodes,
                    std::vector<topo::Error>& errors)
        : m_file(file),
          m_nodes(nodes),
          m_errors(errors)
    {
    }

    bool Read(const std::string& text);

  private:
    bool Fail(const std::string& where, const std::string& problem)
    {
        AddError(m_errors, m_file, where, problem);
        return false;
    }

    bool ReadDocument(const json& document, const std::string& place);
    bool ReadNode(const json& node, const std::string& place);
    bool ReadId(const json& value, const std::string& where, uint64_t* id);
    bool ReadType(const json& value, const std::string& where, ChakraType* type);
    bool ReadDependencies(const json& value, const std::string& where, ChakraNode* node);
    bool ReadAttributes(const json& value, const std::string& where, ChakraNode* node);
    bool ReadValue(const json& value, const std::string& where, ChakraValue* result);

    const std::string& m_file;
    std::vector<ChakraNode>* m_nodes;
    std::vector<topo::Error>& m_errors;
};

bool
JsonTraceReader::ReadId(const json& value, const std::string& where, uint64_t* id)
{
    const auto whole = WholeOf(value);
    if (!whole || whole->huge || whole->whole < 0)
    {
        return Fail(where, "is not a number, 0 to 2^63 - 1");
    }
    *id = static_cast<uint64_t>(whole->whole);
    return true;
}

bool
JsonTraceReader::ReadType(const json& value, const std::string& where, ChakraType* type)
{
    if (value.is_string())
    {
        for (std::size_t i = 0; i < kNodeTypes.size(); ++i)
        {
            if (value.get_ref<const std::string&>() == kNodeTypes[i])
            {
                *type = static_cast<ChakraType>(i);
                return true;
            }
        }
    }
    const auto whole = WholeOf(value);
    if (!whole || whole->whole < 0 || static_cast<uint64_t>(whole->whole) > kMostChakraType)
    {
        return Fail(where,
                    "is no type of a node; allowed: COMP_NODE, COMM_COLL_NODE, ..., or 0 to " +
                        std::to_string(kMostChakraType));
    }
    *type = static_cast<ChakraType>(whole->whole);
    return true;
}

bool
JsonTraceReader::ReadDependencies(const json& value, const std::string& where, ChakraNode* node)
{
    if (!value.is_array())
    {
        return Fail(where, "is not a list of nodes' numbers");
    }
    for (std::size_t i = 0; i < value.size(); ++i)
    {
        uint64_t id = 0;
        if (!ReadId(value[i], where + "/" + std::to_string(i), &id))
        {
            return false;
        }
        node->after.push_back(id);
    }
    return true;
}

bool
JsonTraceReader::ReadValue(const json& value, const std::string& where, ChakraValue* result)
{
    if (value.is_array())
    {
        result->kind = ChakraValue::Kind::kList;
        for (const json& one : value)
        {
            const auto whole = WholeOf(one);
            if (!whole)
            {
                result->list.clear(); // list of texts or reals: no attribute in use has one
                break;
            }
            result->list.push_back(whole->whole);
        }
        return true;
    }
    if (value.is_number_float())
    {
        result->kind = ChakraValue::Kind::kReal;
        result->real = value.get<double>();
        return true;
    }
    if (value.is_string())
    {
        result->kind = ChakraValue::Kind::kText;
        result->text = value.get<std::string>();
        return true;
    }
    if (const auto whole = WholeOf(value))
    {
        *result = *whole;
        return true;
    }
    return Fail(where, "is no value of an attribute: a number, a text, true, false, or a list");
}

bool
JsonTraceReader::ReadAttributes(const json& value, const std::string& where, ChakraNode* node)
{
    if (!value.is_array())
    {
        return Fail(where, "is not a list of attributes");
    }
    for (std::size_t i = 0; i < value.size(); ++i)
    {
        const std::string at = where + "/" + std::to_string(i);
        const json& attribute = value[i];
        const auto name = attribute.is_object() ? attribute.find("name") : attribute.end();
        if (!attribute.is_object() || name == attribute.end() || !name->is_string())
        {
            return Fail(at, "is no attribute with a name");
        }
        for (const auto& [key, member] : attribute.items())
        {
            const std::string folded = topo::FoldedName(key);
            const bool list =
                folded.size() > 4 && folded.compare(folded.size() - 4, 4, "list") == 0;
            const bool scalar =
                folded.size() > 3 && folded.compare(folded.size() - 3, 3, "val") == 0;
            if (!list && !scalar)
            {
                continue; // its name, a remark
            }
            const bool isText = folded == "stringval" || folded == "bytesval";
            ChakraValue result;
            const json* what = &member;
            if (list && member.is_object() && member.contains("values"))
            {
                what = &member["values"];
            }
            if (!isText && scalar && member.is_string())
            {
                // 64 bits, or a real number that JSON has no other way to write.
                const auto whole = WholeOf(member);
                if (!whole && folded != "doubleval" && folded != "floatval")
                {
                    return Fail(at + "/" + topo::Quoted(key), "is not a number of 64 bits");
                }
                if (whole)
                {
                    result = *whole;
                }
            }
            else if (!ReadValue(*what, at + "/" + topo::Quoted(key), &result))
            {
                return false;
            }
            node->attributes[name->get<std::string>()] = std::move(result);
        }
    }
    return true;
}

bool
JsonTraceReader::ReadNode(const json& node, const std::string& place)
{
    ChakraNode& result = m_nodes->emplace_back();
    result.place = place;
    for (const auto& [key, value] : node.items())
    {
        const std::string folded = topo::FoldedName(key);
        const std::string where = place + ": " + topo::Quoted(key);
        bool fine = true;
        if (folded == "id")
        {
            fine = ReadId(value, where, &result.id);
        }
        else if (folded == "name")
        {
            result.name = value.is_string() ? value.get<std::string>() : "";
            fine = (value.is_string() && rdma::IsPlain(result.name)) ||
                   Fail(where, std::string("is not a text of ") + rdma::kPlainHelp);
        }
        else if (folded == "type" || folded == "nodetype")
        {
            fine = ReadType(value, where, &result.type);
        }
        else if (folded == "ctrldeps" || folded == "datadeps")
        {
            fine = ReadDependencies(value, where, &result);
        }
        else if (folded == "runtime" || folded == "durationmicros")
        {
            fine = ReadId(value, where, &result.durationMicros);
        }
        else if (folded == "inputs")
        {
            if (value.is_object() && value.contains("values") && value["values"].is_string())
            {
                result.inputs = value["values"].get<std::string>();
            }
        }
        else if (folded == "attr")
        {
            fine = ReadAttributes(value, where, &result);
        }
        else if (!value.is_object() && !value.is_null()) // flat
        {
            fine = ReadValue(value, where, &result.attributes[key]);
        }
        if (!fine)
        {
            return false;
        }
    }
    return true;
}

bool
JsonTraceReader::ReadDocument(const json& document, const std::string& place)
{
    if (!document.is_object())
    {
        return Fail(place, "is not an object");
    }
    const char* const list = document.contains("workload_graph") ? "workload_graph" : "nodes";
    const auto graph = document.find(list);
    if (graph != document.end())
    {
        if (!graph->is_array())
        {
            return Fail(std::string("/") + list, "is not a list of nodes");
        }
        for (std::size_t i = 0; i < graph->size(); ++i)
        {
            const std::string at = std::string("/") + list + "/" + std::to_string(i);
            if (!(*graph)[i].is_object())
            {
                return Fail(at, "is not an object");
            }
            if (!ReadNode((*graph)[i], at))
            {
                return false;
            }
        }
        return true;
    }
    if (m_nodes->empty() && document.contains("version") && !document.contains("id"))
    {
        return true; // GlobalMetadata
    }
    return ReadNode(document, place);
}

/// Where the object that begins at `begin` ends: behind its last brace. 0: it does not, or is too
/// deep.
std::size_t
EndOfObject(const std::string& text, std::size_t begin, bool* deep)
{
    std::size_t end = 0;
    topo::ForEachBracket(text, begin, [&](std::size_t at, int depth) {
        *deep = depth > kMostDepth;
        end = depth == 0 ? at + 1 : 0;
        return depth != 0 && !*deep;
    });
    return end;
}

bool
JsonTraceReader::Read(const std::string& text)
{
    std::size_t begin = 0;
    while ((begin = text.find_first_not_of(" \t\r\n", begin)) != std::string::npos)
    {
        const std::string place = "byte " + std::to_string(begin);
        if (text[begin] != '{')
        {
            return Fail(place,
                        "is no JSON object: it begins with " + topo::Quoted(text.substr(begin, 1)));
        }
        bool deep = false;
        const std::size_t end = EndOfObject(text, begin, &deep);
        if (end == 0)
        {
            return Fail(place,
                        deep ? "is an object with more than " + std::to_string(kMostDepth) +
                                   " levels in it"
                             : std::string("begins an object that has no end"));
        }
        try
        {
            const json document = json::parse(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                              text.begin() + static_cast<std::ptrdiff_t>(end));
            if (!ReadDocument(document, place))
            {
                return false;
            }
        }
        catch (const json::exception& e) // no JSON; a number out of range
        {
            const std::size_t at =
                begin + topo::JsonByte(e, text.substr(begin, end - begin)); // a number, its first
            return Fail("byte " + std::to_string(at),
                        "is no JSON: " + rdma::Shown(topo::JsonReason(e.what()), 300));
        }
        begin = end;
    }
    return true;
}

} // namespace

bool
ReadChakraJson(const std::string& text,
               const std::string& file,
               std::vector<ChakraNode>* nodes,
               std::vector<topo::Error>& errors)
{
    return JsonTraceReader(file, nodes, errors).Read(text);
}

void
WriteChakraJson(const std::vector<ChakraNode>& nodes, std::ostream& os)
{
    os << R"({"version": "0.0.4"})"
       << "\n";
    for (const ChakraNode& node : nodes)
    {
        // As protobuf prints it: 64 bits as texts.
        nlohmann::ordered_json out;
        out["id"] = std::to_string(node.id);
        out["name"] = node.name;
        out["type"] = kNodeTypes[static_cast<std::size_t>(node.type)];
        if (!node.after.empty())
        {
            for (const uint64_t id : node.after)
            {
                out["dataDeps"].push_back(std::to_string(id));
            }
        }
        if (node.durationMicros > 0)
        {
            out["durationMicros"] = std::to_string(node.durationMicros);
        }
        for (const auto& [name, value] : node.attributes)
        {
            nlohmann::ordered_json attribute = {{"name", name}};
            switch (value.kind)
            {
            case ChakraValue::Kind::kText:
                attribute["stringVal"] = value.text;
                break;
            case ChakraValue::Kind::kReal:
                attribute["doubleVal"] = value.real;
                break;
            case ChakraValue::Kind::kList:
                for (const int64_t one : value.list)
                {
                    attribute["int64List"]["values"].push_back(std::to_string(one));
                }
                break;
            default:
                if (name == "is_cpu_op")
                {
                    attribute["boolVal"] = value.whole != 0;
                }
                else if (name == "comm_src" || name == "comm_dst" || name == "comm_tag")
                {
                    attribute["int32Val"] = value.whole;
                }
                else
                {
                    attribute["int64Val"] = std::to_string(value.whole);
                }
            }
            out["attr"].push_back(std::move(attribute));
        }
        os << out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
    }
}

} // namespace formats
