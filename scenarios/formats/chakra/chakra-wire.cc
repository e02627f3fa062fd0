/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/chakra/chakra-wire.h"

#include "contrib/rdma/core/shown-text.h"
#include "scenarios/formats/input-file.h"

#if __has_include(<google/protobuf/io/coded_stream.h>) && defined(DLTRAIN_PROTOBUF)
#include <cstring>
#include <functional>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/wire_format_lite.h>
#include <utility>

namespace formats
{

namespace
{

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

class WireReader
{
  public:
    WireReader(const std::string& bytes, const std::string& file, std::vector<topo::Error>& errors)
        : m_in(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size())),
          m_size(static_cast<int>(bytes.size())),
          m_file(file),
          m_errors(errors)
    {
    }

    bool Read(std::vector<ChakraNode>* nodes);

  private:
    bool Fail(const std::string& problem)
    {
        if (!m_failed)
        {
            AddError(m_errors, m_file, "byte " + std::to_string(m_in.CurrentPosition()), problem);
        }
        m_failed = true;
        return false;
    }

    /// Fields of a message that begins here. \param field gets its number and its wire type;
    /// returns false if it is none of those it knows, which is passed over then
    bool ReadFields(const std::function<bool(int field, WireFormatLite::WireType type)>& field);
    /// The same of a message in a field.
    bool ReadMessage(const std::function<bool(int field, WireFormatLite::WireType type)>& field);
    bool ReadVarint(uint64_t* value);
    bool ReadText(std::string* text);
    bool ReadVarints(WireFormatLite::WireType type, std::vector<uint64_t>* values);
    bool ReadNode(ChakraNode* node);
    bool ReadAttribute(ChakraNode* node);
    bool ReadValue(int field, WireFormatLite::WireType type, ChakraValue* value);
    bool ReadList(int field, ChakraValue* value);

    CodedInputStream m_in;
    const int m_size;
    const std::string& m_file;
    std::vector<topo::Error>& m_errors;
    bool m_failed = false;
};

bool
WireReader::ReadFields(const std::function<bool(int, WireFormatLite::WireType)>& field)
{
    while (!m_failed && m_in.BytesUntilLimit() != 0)
    {
        const uint32_t tag = m_in.ReadTag();
        if (tag == 0)
        {
            return Fail("there is no field of a message");
        }
        const int number = WireFormatLite::GetTagFieldNumber(tag);
        if (!field(number, WireFormatLite::GetTagWireType(tag)) && !m_failed &&
            !WireFormatLite::SkipField(&m_in, tag))
        {
            return Fail("field " + std::to_string(number) + " is cut off, or of no wire type");
        }
    }
    return !m_failed;
}

bool
WireReader::ReadMessage(const std::function<bool(int, WireFormatLite::WireType)>& field)
{
    int length = 0;
    if (!m_in.ReadVarintSizeAsInt(&length) || length > m_in.BytesUntilLimit())
    {
        return Fail("a part of a node is longer than the node");
    }
    const auto limit = m_in.PushLimit(length);
    const bool fine = ReadFields(field);
    m_in.PopLimit(limit);
    return fine;
}

bool
WireReader::ReadVarint(uint64_t* value)
{
    return m_in.ReadVarint64(value) || Fail("a number is cut off, or of more than 64 bits");
}

bool
WireReader::ReadText(std::string* text)
{
    int length = 0;
    return (m_in.ReadVarintSizeAsInt(&length) && length <= m_in.BytesUntilLimit() &&
            m_in.ReadString(text, length)) ||
           Fail("a text is longer than what it stands in");
}

bool
WireReader::ReadVarints(WireFormatLite::WireType type, std::vector<uint64_t>* values)
{
    uint64_t value = 0;
    if (type == WireFormatLite::WIRETYPE_VARINT)
    {
        if (!ReadVarint(&value))
        {
            return false;
        }
        values->push_back(value);
        return true;
    }
    int length = 0;
    if (!m_in.ReadVarintSizeAsInt(&length) || length > m_in.BytesUntilLimit())
    {
        return Fail("a list is longer than the node");
    }
    const auto limit = m_in.PushLimit(length);
    while (m_in.BytesUntilLimit() > 0 && ReadVarint(&value))
    {
        values->push_back(value);
    }
    m_in.PopLimit(limit);
    return !m_failed;
}

void
SetWhole(ChakraValue* value, uint64_t bits, bool isSigned)
{
    value->huge = !isSigned && bits > INT64_MAX;
    value->whole = value->huge ? -1 : static_cast<int64_t>(bits);
}

bool
WireReader::ReadList(int field, ChakraValue* value)
{
    value->kind = ChakraValue::Kind::kList;
    const int scalar = field - 1;
    const bool varints = (scalar >= 7 && scalar <= 17) || scalar == 27;
    const bool zigzag = scalar == 15 || scalar == 17;
    return ReadMessage([&](int inner, WireFormatLite::WireType type) {
        const bool known = inner == 1 && varints &&
                           (type == WireFormatLite::WIRETYPE_VARINT ||
                            type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
        std::vector<uint64_t> values;
        if (!known || !ReadVarints(type, &values))
        {
            return false;
        }
        for (const uint64_t bits : values)
        {
            value->list.push_back(zigzag ? WireFormatLite::ZigZagDecode64(bits)
                                         : static_cast<int64_t>(bits));
        }
        return true;
    });
}

bool
WireReader::ReadValue(int field, WireFormatLite::WireType type, ChakraValue* value)
{
    // Members of the oneof: a scalar at an odd number, its list at the next.
    if (field % 2 == 0)
    {
        return type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED && ReadList(field, value);
    }
    uint64_t bits = 0;
    uint32_t half = 0;
    switch (type)
    {
    case WireFormatLite::WIRETYPE_VARINT:
        if (field < 7 || (field > 17 && field != 27) || !ReadVarint(&bits))
        {
            return false;
        }
        if (field == 15 || field == 17)
        {
            value->whole = WireFormatLite::ZigZagDecode64(bits);
            return true;
        }
        SetWhole(value, bits, field == 7 || field == 9);
        return true;
    case WireFormatLite::WIRETYPE_FIXED64:
        if (field != 3 && field != 21 && field != 25)
        {
            return false;
        }
        if (!m_in.ReadLittleEndian64(&bits))
        {
            return Fail("a number is cut off");
        }
        if (field == 3)
        {
            value->kind = ChakraValue::Kind::kReal;
            std::memcpy(&value->real, &bits, sizeof bits);
            return true;
        }
        SetWhole(value, bits, field == 25);
        return true;
    case WireFormatLite::WIRETYPE_FIXED32:
        if (field != 5 && field != 19 && field != 23)
        {
            return false;
        }
        if (!m_in.ReadLittleEndian32(&half))
        {
            return Fail("a number is cut off");
        }
        if (field == 5)
        {
            float real = 0;
            std::memcpy(&real, &half, sizeof half);
            value->kind = ChakraValue::Kind::kReal;
            value->real = static_cast<double>(real);
            return true;
        }
        value->whole = field == 23 ? static_cast<int32_t>(half) : static_cast<int64_t>(half);
        return true;
    case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
        if (field != 29 && field != 31)
        {
            return false;
        }
        value->kind = ChakraValue::Kind::kText;
        return ReadText(&value->text);
    default:
        return false;
    }
}

bool
WireReader::ReadAttribute(ChakraNode* node)
{
    std::string name;
    ChakraValue value;
    bool has = false;
    const bool fine = ReadMessage([&](int field, WireFormatLite::WireType type) {
        if (field == 1 && type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED)
        {
            return ReadText(&name);
        }
        if (field < 3 || field > 32)
        {
            return false;
        }
        value = {}; // among several the last one counts, as in protobuf
        const bool known = ReadValue(field, type, &value);
        has = has || known;
        return known;
    });
    if (fine && has)
    {
        node->attributes[name] = std::move(value);
    }
    return fine;
}

bool
WireReader::ReadNode(ChakraNode* node)
{
    node->place = "byte " + std::to_string(m_in.CurrentPosition());
    return ReadFields([&](int field, WireFormatLite::WireType type) {
        uint64_t value = 0;
        const bool varint = type == WireFormatLite::WIRETYPE_VARINT;
        const bool delimited = type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
        switch (field)
        {
        case 1:
            return varint && ReadVarint(&node->id);
        case 2:
            if (!delimited || !ReadText(&node->name))
            {
                return false;
            }
            return rdma::IsPlain(node->name) ||
                   Fail("a node whose name is not " + std::string(rdma::kPlainHelp));
        case 3:
            if (!varint || !ReadVarint(&value))
            {
                return false;
            }
            if (value > kMostChakraType)
            {
                return Fail("a node of type " + std::to_string(value) + "; allowed: 0 to " +
                            std::to_string(kMostChakraType));
            }
            node->type = static_cast<ChakraType>(value);
            return true;
        case 4:
        case 5:
            return (varint || delimited) && ReadVarints(type, &node->after);
        case 7:
            return varint && ReadVarint(&node->durationMicros);
        case 8:
            return delimited && ReadMessage([&](int inner, WireFormatLite::WireType of) {
                       return inner == 1 && of == WireFormatLite::WIRETYPE_LENGTH_DELIMITED &&
                              ReadText(&node->inputs);
                   });
        case 10:
            return delimited && ReadAttribute(node);
        default:
            return false;
        }
    });
}

bool
WireReader::Read(std::vector<ChakraNode>* nodes)
{
    bool first = true;
    while (!m_failed && m_in.CurrentPosition() < m_size)
    {
        int length = 0;
        if (!m_in.ReadVarintSizeAsInt(&length))
        {
            return Fail("the length of a message is cut off, or above 2^31");
        }
        if (length > m_size - m_in.CurrentPosition())
        {
            return Fail("a message of " + std::to_string(length) + " B, but only " +
                        std::to_string(m_size - m_in.CurrentPosition()) + " B follow");
        }
        const auto limit = m_in.PushLimit(length);
        // The first is GlobalMetadata, whose field 1 is a text; that of a node is a number. Without
        // it files are read as well, as some tools leave it out.
        const void* next = nullptr;
        int more = 0;
        const uint8_t begin = m_in.GetDirectBufferPointer(&next, &more) && more > 0
                                  ? *static_cast<const uint8_t*>(next)
                                  : 0;
        const bool node = length > 0 && begin == 8;
        if (first && !node)
        {
            ReadFields([](int, WireFormatLite::WireType) { return false; });
        }
        else
        {
            ReadNode(&nodes->emplace_back());
        }
        first = false;
        m_in.PopLimit(limit);
    }
    return !m_failed;
}

class WireWriter
{
  public:
    explicit WireWriter(std::string* bytes)
        : m_raw(bytes),
          m_out(&m_raw)
    {
    }

    void Tag(int field, WireFormatLite::WireType type)
    {
        m_out.WriteTag(WireFormatLite::MakeTag(field, type));
    }

    void Number(int field, uint64_t value)
    {
        Tag(field, WireFormatLite::WIRETYPE_VARINT);
        m_out.WriteVarint64(value);
    }

    void Text(int field, const std::string& text)
    {
        Tag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
        m_out.WriteVarint32(static_cast<uint32_t>(text.size()));
        m_out.WriteString(text);
    }

    void Real(int field, double value)
    {
        Tag(field, WireFormatLite::WIRETYPE_FIXED64);
        uint64_t bits = 0;
        std::memcpy(&bits, &value, sizeof bits);
        m_out.WriteLittleEndian64(bits);
    }

  private:
    google::protobuf::io::StringOutputStream m_raw;
    CodedOutputStream m_out;
};

std::string
Packed(const std::vector<uint64_t>& values)
{
    std::string bytes;
    {
        google::protobuf::io::StringOutputStream raw(&bytes);
        CodedOutputStream out(&raw);
        for (const uint64_t value : values)
        {
            out.WriteVarint64(value);
        }
    }
    return bytes;
}

std::string
AttributeText(const std::string& name, const ChakraValue& value)
{
    std::string bytes;
    {
        WireWriter out(&bytes);
        out.Text(1, name);
        switch (value.kind)
        {
        case ChakraValue::Kind::kText:
            out.Text(29, value.text);
            break;
        case ChakraValue::Kind::kReal:
            out.Real(3, value.real);
            break;
        case ChakraValue::Kind::kList: {
            std::string list;
            {
                WireWriter inner(&list);
                inner.Text(1, Packed({value.list.begin(), value.list.end()}));
            }
            out.Text(10, list);
            break;
        }
        default: {
            const bool narrow = name == "comm_src" || name == "comm_dst" || name == "comm_tag";
            const int field = name == "is_cpu_op" ? 27 : narrow ? 7 : 9;
            out.Number(field, static_cast<uint64_t>(value.whole));
            break;
        }
        }
    }
    return bytes;
}

std::string
NodeText(const ChakraNode& node)
{
    std::string bytes;
    {
        WireWriter out(&bytes);
        out.Number(1, node.id);
        out.Text(2, node.name);
        out.Number(3, static_cast<uint64_t>(node.type));
        if (!node.after.empty())
        {
            out.Text(5, Packed(node.after));
        }
        if (node.durationMicros > 0)
        {
            out.Number(7, node.durationMicros);
        }
        for (const auto& [name, value] : node.attributes)
        {
            out.Text(10, AttributeText(name, value));
        }
    }
    return bytes;
}

void
WriteDelimited(const std::string& message, std::ostream& os)
{
    uint8_t length[10];
    const uint8_t* const end = CodedOutputStream::WriteVarint64ToArray(message.size(), length);
    os.write(reinterpret_cast<const char*>(length), end - length);
    os.write(message.data(), static_cast<std::streamsize>(message.size()));
}

} // namespace

std::string
WhyNoChakraWire()
{
    return {};
}

bool
ReadChakraWire(const std::string& bytes,
               const std::string& file,
               std::vector<ChakraNode>* nodes,
               std::vector<topo::Error>& errors)
{
    return WireReader(bytes, file, errors).Read(nodes);
}

void
WriteChakraWire(const std::vector<ChakraNode>& nodes, std::ostream& os)
{
    std::string metadata;
    {
        WireWriter out(&metadata);
        out.Text(1, "0.0.4"); // the version that the converters of mlcommons/chakra write
    }
    WriteDelimited(metadata, os);
    for (const ChakraNode& node : nodes)
    {
        WriteDelimited(NodeText(node), os);
    }
}

} // namespace formats

#else

namespace formats
{

std::string
WhyNoChakraWire()
{
    return "this program was built without the protobuf library; type:  sudo apt-get install "
           "--no-install-recommends libprotobuf-dev  and build again";
}

bool
ReadChakraWire(const std::string&,
               const std::string& file,
               std::vector<ChakraNode>*,
               std::vector<topo::Error>& errors)
{
    AddError(errors, file, "", WhyNoChakraWire());
    return false;
}

void
WriteChakraWire(const std::vector<ChakraNode>&, std::ostream&)
{
}

} // namespace formats

#endif
