/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/formats/graphml-format.h"

#include "topologies/formats/xml-reader.h"
#include "topologies/names.h"

#include <map>
#include <utility>

namespace topo
{

namespace
{

struct GraphmlKey
{
    std::string name; ///< of the attribute, in lower case; empty: one about looks
    std::string of;   ///< "node", "edge", "all" or others
    std::string value;
    bool hasValue = false;
};

std::string
WithoutSpaceAround(const std::string& text)
{
    constexpr const char* kSpace = " \t\r\n";
    const std::size_t begin = text.find_first_not_of(kSpace);
    return begin == std::string::npos
               ? ""
               : text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

class GraphmlReader
{
  public:
    GraphmlReader(const std::string& text, Drawing* drawing)
        : m_reader(text),
          m_drawing(*drawing)
    {
    }

    DrawnProblem Read()
    {
        while (m_problem.text.empty())
        {
            const XmlPart part = m_reader.Next();
            switch (part.kind)
            {
            case XmlKind::kOpen:
                Open(part);
                break;
            case XmlKind::kClose:
                Close(part);
                break;
            case XmlKind::kText:
                m_text += m_inData ? part.text : "";
                break;
            case XmlKind::kWrong:
                Fail(part.line, part.text);
                break;
            case XmlKind::kEnd:
                if (!m_path.empty())
                {
                    Fail(part.line, "ends before " + Quoted("</" + m_path.back() + ">"));
                }
                else
                {
                    Finish();
                }
                return m_problem;
            }
        }
        return m_problem;
    }

  private:
    enum class Owner : uint8_t
    {
        kNone,
        kNode,
        kEdge
    };

    void Fail(uint32_t line, const std::string& problem)
    {
        m_problem = {line, problem};
    }

    void Open(const XmlPart& part)
    {
        constexpr std::size_t kDeepest = 256;
        m_path.push_back(part.text);
        const std::string& element = part.text;
        if (m_path.size() == 1 && element != "graphml")
        {
            Fail(part.line, "is no GraphML: the first element is " + Quoted(element));
        }
        else if (m_path.size() > kDeepest)
        {
            Fail(part.line, "has elements deeper than " + std::to_string(kDeepest));
        }
        else if (m_inData)
        {
            m_isLabel |= element == "NodeLabel";
            m_text.clear(); // of what is about looks, the innermost
        }
        else if (element == "key")
        {
            m_key = &m_keys[part.Attribute("id")];
            m_key->name = LowerCase(part.Attribute("attr.name"));
            m_key->of = part.Attribute("for");
            const std::string type = part.Attribute("yfiles.type");
            m_key->name = type == "nodegraphics" ? "" : m_key->name;
        }
        else if (element == "graph" && m_path.size() == 2)
        {
            m_drawing.directed = part.Attribute("edgedefault") == "directed";
        }
        else if (element == "hyperedge")
        {
            Fail(part.line, "has a hyperedge; allowed: edges of two nodes");
        }
        else if (element == "node")
        {
            OpenNode(part);
        }
        else if (element == "edge")
        {
            OpenEdge(part);
        }
        else if (element == "data" || element == "default")
        {
            m_inData = true;
            m_isLabel = false;
            m_text.clear();
            m_dataDepth = m_path.size();
            m_dataKey = part.Attribute("key");
        }
    }

    void OpenNode(const XmlPart& part)
    {
        const std::string& id = part.Attribute("id");
        if (id.empty())
        {
            Fail(part.line, "has a node without an id");
            return;
        }
        const auto node = m_drawing.NodeOf(id, part.line);
        if (!node)
        {
            Fail(part.line, "is a network larger than " + detail::LargestNetwork());
            return;
        }
        if (m_isNode.size() > *node && m_isNode[*node])
        {
            Fail(part.line, "has two nodes " + Quoted(id));
            return;
        }
        m_isNode.resize(m_drawing.nodes.size(), false);
        m_isNode[*node] = true;
        m_drawing.nodes[*node].line = part.line;
        m_nodes.push_back(*node);
    }

    void OpenEdge(const XmlPart& part)
    {
        if (m_drawing.edges.size() >= detail::kMostLinks)
        {
            Fail(part.line, "is a network larger than " + detail::LargestNetwork());
            return;
        }
        const std::string& from = part.Attribute("source");
        const std::string& to = part.Attribute("target");
        const auto a = m_drawing.NodeOf(from, part.line);
        const auto b = m_drawing.NodeOf(to, part.line);
        if (from.empty() || to.empty() || !a || !b)
        {
            Fail(part.line, "has an edge without a source or a target");
            return;
        }
        DrawnEdge edge;
        edge.from = *a;
        edge.to = *b;
        edge.line = part.line;
        m_drawing.edges.push_back(edge);
        m_isEdge = true;
    }

    void Close(const XmlPart& part)
    {
        if (m_path.empty() || m_path.back() != part.text)
        {
            Fail(part.line,
                 "has " + Quoted("</" + part.text + ">") +
                     (m_path.empty()
                          ? std::string(" without its begin")
                          : ", where " + Quoted("</" + m_path.back() + ">") + " is needed"));
            return;
        }
        if (m_inData && m_path.size() == m_dataDepth)
        {
            CloseData(part.text == "default");
        }
        else if (m_inData)
        {
            m_label = part.text == "NodeLabel" ? WithoutSpaceAround(m_text) : m_label;
        }
        else if (part.text == "node" && !m_nodes.empty())
        {
            m_nodes.pop_back();
        }
        else if (part.text == "edge")
        {
            m_isEdge = false;
        }
        m_path.pop_back();
    }

    void CloseData(bool isDefault)
    {
        m_inData = false;
        const std::string value = m_isLabel ? m_label : WithoutSpaceAround(m_text);
        if (isDefault)
        {
            if (m_key)
            {
                m_key->value = value;
                m_key->hasValue = true;
            }
            return;
        }
        const auto key = m_keys.find(m_dataKey);
        const std::string name = m_isLabel             ? "label"
                                 : key == m_keys.end() ? LowerCase(m_dataKey)
                                                       : key->second.name;
        DrawnAttributes* const attributes = m_isEdge ? &m_drawing.edges.back().attributes
                                            : m_nodes.empty()
                                                ? nullptr
                                                : &m_drawing.nodes[m_nodes.back()].attributes;
        if (attributes && !name.empty())
        {
            (*attributes)[name] = value;
        }
    }

    /// Nodes that edges name must be there, and get the keys' defaults.
    void Finish()
    {
        m_isNode.resize(m_drawing.nodes.size(), false);
        for (std::size_t n = 0; n < m_isNode.size(); ++n)
        {
            if (!m_isNode[n])
            {
                const DrawnNode& node = m_drawing.nodes[n];
                Fail(node.line, "has an edge of node " + Quoted(node.id) + ", which is not there");
                return;
            }
        }
        for (const auto& [id, key] : m_keys)
        {
            const bool all = key.of == "all" || key.of.empty();
            if (!key.hasValue || key.name.empty())
            {
                continue;
            }
            for (DrawnNode& node : m_drawing.nodes)
            {
                if (all || key.of == "node")
                {
                    node.attributes.emplace(key.name, key.value);
                }
            }
            for (DrawnEdge& edge : m_drawing.edges)
            {
                if (all || key.of == "edge")
                {
                    edge.attributes.emplace(key.name, key.value);
                }
            }
        }
    }

    XmlReader m_reader;
    Drawing& m_drawing;
    DrawnProblem m_problem;
    std::vector<std::string> m_path; ///< open elements
    std::map<std::string, GraphmlKey> m_keys;
    GraphmlKey* m_key = nullptr;   ///< the last one
    std::vector<uint32_t> m_nodes; ///< open ones
    std::vector<bool> m_isNode;    ///< by node: it is there
    bool m_isEdge = false;         ///< an edge is open, the last one
    bool m_inData = false;
    bool m_isLabel = false;
    std::size_t m_dataDepth = 0;
    std::string m_dataKey;
    std::string m_text;
    std::string m_label;
};

} // namespace

bool
IsGraphmlTopology(const std::string& path)
{
    return BeginOfFile(path).find("<graphml") != std::string::npos;
}

TopologyResult
ReadGraphmlTopology(const std::string& text, const std::string& name, rdma::Duration delay)
{
    Drawing drawing;
    const DrawnProblem problem = GraphmlReader(text, &drawing).Read();
    return problem.text.empty() ? MakeDrawn(drawing, name, delay) : DrawnFailure(name, problem);
}

namespace
{

Family
Graphml()
{
    Family f("graphml", "any network, from a graph in GraphML");
    f.file = "a graph in GraphML";
    f.reads = IsGraphmlTopology;
    f.leavesDelay = true;
    f.make = [](const TopologyRequest& r) {
        return detail::MakeFromFile(r, [&](const std::string& text, const std::string& name) {
            return ReadGraphmlTopology(text, name, r.linkDelay);
        });
    };
    return f;
}

const RegisteredFamily g_graphml(Graphml());

} // namespace

} // namespace topo
