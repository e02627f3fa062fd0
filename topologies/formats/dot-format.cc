/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/formats/dot-format.h"

#include "topologies/names.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

namespace topo
{

namespace
{

/// Deeper files are no networks, and would take all of the stack.
constexpr uint32_t kDeepestSubgraph = 64;

enum class DotKind : uint8_t
{
    kEnd,
    kId,   ///< a word, a number, a text
    kSign, ///< { } [ ] ; , = :
    kEdge, ///< -- or ->
    kWrong
};

struct DotToken
{
    DotKind kind = DotKind::kEnd;
    std::string text;
    bool quoted = false; ///< no keyword
    uint32_t line = 1;
};

class DotTokens
{
  public:
    explicit DotTokens(std::string_view text)
        : m_text(text)
    {
    }

    DotToken Next()
    {
        SkipBlank();
        DotToken token;
        token.line = m_line;
        if (m_at >= m_text.size())
        {
            return token;
        }
        const char c = m_text[m_at];
        if (c == '"')
        {
            ReadQuoted(&token);
        }
        else if (c == '<')
        {
            ReadHtml(&token);
        }
        else if (c == '-' && (Peek(1) == '-' || Peek(1) == '>'))
        {
            token.kind = DotKind::kEdge;
            token.text = m_text.substr(m_at, 2);
            m_at += 2;
        }
        else if (IsWord(c) || c == '-')
        {
            token.kind = DotKind::kId;
            do
            {
                token.text += m_text[m_at++];
            } while (m_at < m_text.size() && IsWord(m_text[m_at]));
        }
        else
        {
            const bool known = std::string_view("{}[];,=:").find(c) != std::string_view::npos;
            token.kind = known ? DotKind::kSign : DotKind::kWrong;
            token.text = c;
            ++m_at;
        }
        return token;
    }

  private:
    static bool IsWord(char c)
    {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' ||
               static_cast<unsigned char>(c) >= 0x80;
    }

    char Peek(std::size_t ahead) const
    {
        return m_at + ahead < m_text.size() ? m_text[m_at + ahead] : '\0';
    }

    void Advance()
    {
        m_line += m_text[m_at] == '\n' ? 1 : 0;
        ++m_at;
    }

    void SkipUntil(std::string_view end)
    {
        while (m_at < m_text.size() && m_text.substr(m_at, end.size()) != end)
        {
            Advance();
        }
    }

    void SkipBlank()
    {
        while (m_at < m_text.size())
        {
            const bool lineBegins = m_at == 0 || m_text[m_at - 1] == '\n';
            if (std::isspace(static_cast<unsigned char>(m_text[m_at])))
            {
                Advance();
            }
            else if ((m_text[m_at] == '/' && Peek(1) == '/') || (m_text[m_at] == '#' && lineBegins))
            {
                SkipUntil("\n");
            }
            else if (m_text[m_at] == '/' && Peek(1) == '*')
            {
                m_at += 2;
                SkipUntil("*/");
                m_at = std::min(m_at + 2, m_text.size());
            }
            else
            {
                return;
            }
        }
    }

    /// "text", and several with a + between them.
    void ReadQuoted(DotToken* token)
    {
        token->kind = DotKind::kId;
        token->quoted = true;
        while (true)
        {
            ++m_at;
            while (m_at < m_text.size() && m_text[m_at] != '"')
            {
                const bool escaped = m_text[m_at] == '\\' && (Peek(1) == '"' || Peek(1) == '\n');
                const bool continued = escaped && Peek(1) == '\n';
                if (escaped)
                {
                    Advance();
                }
                if (!continued)
                {
                    token->text += m_text[m_at];
                }
                Advance();
            }
            if (m_at >= m_text.size())
            {
                token->kind = DotKind::kWrong;
                return;
            }
            ++m_at;
            SkipBlank();
            if (Peek(0) != '+')
            {
                return;
            }
            ++m_at;
            SkipBlank();
            if (Peek(0) != '"')
            {
                token->kind = DotKind::kWrong;
                return;
            }
        }
    }

    /// <...>, which is about looks: its text is skipped.
    void ReadHtml(DotToken* token)
    {
        token->kind = DotKind::kId;
        token->quoted = true;
        std::size_t open = 0;
        do
        {
            open += m_text[m_at] == '<' ? 1 : 0;
            open -= m_text[m_at] == '>' ? 1 : 0;
            Advance();
        } while (open && m_at < m_text.size());
        token->kind = open ? DotKind::kWrong : token->kind;
    }

    std::string_view m_text;
    std::size_t m_at = 0;
    uint32_t m_line = 1;
};

class DotReader
{
  public:
    DotReader(const std::string& text, Drawing* drawing)
        : m_tokens(text),
          m_drawing(*drawing)
    {
        Take();
    }

    DrawnProblem Read()
    {
        m_strict = IsKeyword("strict");
        if (m_strict)
        {
            Take();
        }
        m_drawing.directed = IsKeyword("digraph");
        if (!m_drawing.directed && !IsKeyword("graph"))
        {
            Fail("is no graph or digraph of DOT");
            return m_problem;
        }
        Take();
        if (m_token.kind == DotKind::kId)
        {
            Take();
        }
        std::vector<uint32_t> nodes;
        if (ReadBlock({}, 0, &nodes) && m_token.kind != DotKind::kEnd)
        {
            Fail("is behind the end of the graph; allowed: one graph");
        }
        return m_problem;
    }

  private:
    struct Defaults
    {
        DrawnAttributes node;
        DrawnAttributes edge;
    };

    void Take()
    {
        m_token = m_tokens.Next();
    }

    bool IsSign(char c) const
    {
        return m_token.kind == DotKind::kSign && m_token.text[0] == c;
    }

    bool IsKeyword(const char* word) const
    {
        return m_token.kind == DotKind::kId && !m_token.quoted && LowerCase(m_token.text) == word;
    }

    bool Fail(const std::string& problem)
    {
        if (m_problem.text.empty())
        {
            const std::string what = m_token.kind == DotKind::kEnd ? "the end of the file"
                                     : m_token.kind == DotKind::kWrong && m_token.quoted
                                         ? "a text that does not end"
                                         : Quoted(m_token.text);
            m_problem = {m_token.line, what + " " + problem};
        }
        return false;
    }

    /// [a=b, c=d] [e]
    bool ReadAttributes(DrawnAttributes* attributes)
    {
        while (IsSign('['))
        {
            Take();
            while (!IsSign(']'))
            {
                if (m_token.kind != DotKind::kId)
                {
                    return Fail("is no attribute; allowed: [rate=\"400Gbps\", delay=\"1us\"]");
                }
                const std::string key = LowerCase(m_token.text);
                std::string value = "true";
                Take();
                if (IsSign('='))
                {
                    Take();
                    if (m_token.kind != DotKind::kId)
                    {
                        return Fail("is no value of " + Quoted(key));
                    }
                    value = m_token.text;
                    Take();
                }
                (*attributes)[key] = value;
                if (IsSign(',') || IsSign(';'))
                {
                    Take();
                }
            }
            Take();
        }
        return true;
    }

    /// { statements }. \param nodes gets those that are named in it
    bool ReadBlock(Defaults defaults, uint32_t depth, std::vector<uint32_t>* nodes)
    {
        if (!IsSign('{'))
        {
            return Fail("is where { is needed");
        }
        if (depth > kDeepestSubgraph)
        {
            return Fail("is too deep in subgraphs; allowed: " + std::to_string(kDeepestSubgraph));
        }
        Take();
        while (!IsSign('}'))
        {
            if (!ReadStatement(&defaults, depth, nodes))
            {
                return false;
            }
            if (IsSign(';'))
            {
                Take();
            }
        }
        Take();
        return true;
    }

    bool ReadStatement(Defaults* defaults, uint32_t depth, std::vector<uint32_t>* nodes)
    {
        DrawnAttributes unused;
        for (const auto& [word, attributes] :
             {std::pair<const char*, DrawnAttributes*>{"node", &defaults->node},
              {"edge", &defaults->edge},
              {"graph", &unused}})
        {
            if (IsKeyword(word))
            {
                Take();
                return IsSign('[') ? ReadAttributes(attributes)
                                   : Fail("is where [ is needed, behind " + std::string(word));
            }
        }
        std::vector<std::vector<uint32_t>> chain;
        bool named = false; // a single node, whose attributes may follow
        do
        {
            if (!chain.empty())
            {
                Take();
            }
            chain.emplace_back();
            named = false;
            if (IsSign('{') || IsKeyword("subgraph"))
            {
                if (IsKeyword("subgraph"))
                {
                    Take();
                    if (m_token.kind == DotKind::kId)
                    {
                        Take();
                    }
                }
                if (!ReadBlock(*defaults, depth + 1, &chain.back()))
                {
                    return false;
                }
            }
            else
            {
                const auto node = ReadNode(*defaults);
                if (!node)
                {
                    return m_skipped;
                }
                chain.back().push_back(*node);
                named = true;
            }
            nodes->insert(nodes->end(), chain.back().begin(), chain.back().end());
        } while (m_token.kind == DotKind::kEdge);
        if (chain.size() == 1)
        {
            return !named || ReadAttributes(&m_drawing.nodes[chain[0][0]].attributes);
        }
        DrawnEdge edge;
        edge.line = m_token.line;
        edge.attributes = defaults->edge;
        return ReadAttributes(&edge.attributes) && AddEdges(chain, edge);
    }

    /// A node, or "key = value" of the graph, which is skipped. \return nothing: see m_skipped
    std::optional<uint32_t> ReadNode(const Defaults& defaults)
    {
        m_skipped = false;
        if (m_token.kind != DotKind::kId)
        {
            Fail("is no statement; allowed: a node, an edge, attributes, a subgraph");
            return std::nullopt;
        }
        const DotToken id = m_token;
        Take();
        if (IsSign('='))
        {
            Take();
            m_skipped = m_token.kind == DotKind::kId || Fail("is no value of " + Quoted(id.text));
            Take();
            return std::nullopt;
        }
        while (IsSign(':')) // a port of the node, where the line is drawn to
        {
            Take();
            if (m_token.kind != DotKind::kId)
            {
                Fail("is no port of " + Quoted(id.text));
                return std::nullopt;
            }
            Take();
        }
        const std::size_t before = m_drawing.nodes.size();
        const auto node = m_drawing.NodeOf(id.text, id.line);
        if (!node)
        {
            Fail("is in a network larger than " + detail::LargestNetwork());
        }
        else if (m_drawing.nodes.size() > before)
        {
            m_drawing.nodes[*node].attributes = defaults.node;
        }
        return node;
    }

    bool AddEdges(const std::vector<std::vector<uint32_t>>& chain, const DrawnEdge& edge)
    {
        for (std::size_t i = 1; i < chain.size(); ++i)
        {
            for (const uint32_t from : chain[i - 1])
            {
                for (const uint32_t to : chain[i])
                {
                    if (m_drawing.edges.size() >= detail::kMostLinks)
                    {
                        return Fail("ends a network larger than " + detail::LargestNetwork());
                    }
                    const bool ordered = m_drawing.directed || from < to;
                    if (m_strict &&
                        !m_seen
                             .insert(ordered ? std::make_pair(from, to) : std::make_pair(to, from))
                             .second)
                    {
                        continue;
                    }
                    m_drawing.edges.push_back(edge);
                    m_drawing.edges.back().from = from;
                    m_drawing.edges.back().to = to;
                }
            }
        }
        return true;
    }

    DotTokens m_tokens;
    DotToken m_token;
    Drawing& m_drawing;
    DrawnProblem m_problem;
    bool m_strict = false;
    bool m_skipped = false; ///< the statement has been read, and is of no node
    std::set<std::pair<uint32_t, uint32_t>> m_seen;
};

} // namespace

bool
IsDotTopology(const std::string& path)
{
    const std::string text = BeginOfFile(path);
    DotTokens tokens(text);
    const DotToken first = tokens.Next();
    const std::string word = first.quoted ? "" : LowerCase(first.text);
    const DotToken second = tokens.Next();
    return (word == "graph" || word == "digraph" || word == "strict") &&
           (second.kind == DotKind::kId || second.text == "{");
}

TopologyResult
ReadDotTopology(const std::string& text, const std::string& name, rdma::Duration delay)
{
    Drawing drawing;
    const DrawnProblem problem = DotReader(text, &drawing).Read();
    return problem.text.empty() ? MakeDrawn(drawing, name, delay) : DrawnFailure(name, problem);
}

namespace
{

Family
Dot()
{
    Family f("dot", "any network, from a graph in DOT");
    f.file = "a graph in DOT (Graphviz)";
    f.reads = IsDotTopology;
    f.leavesDelay = true;
    f.make = [](const TopologyRequest& r) {
        return detail::MakeFromFile(r, [&](const std::string& text, const std::string& name) {
            return ReadDotTopology(text, name, r.linkDelay);
        });
    };
    return f;
}

const RegisteredFamily g_dot(Dot());

} // namespace

} // namespace topo
