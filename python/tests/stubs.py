"""The stubs, read as text: what they say is compared with the package without a type checker."""

import ast
from pathlib import Path

import warpplay

# As Python 3.9 reads them.
FILES = {path.stem: ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9)) for path in Path(warpplay.__file__).parent.glob("*.pyi")}


def functions(module):
    """Every function of a stub by its whole name; what makes an object has the name of the class."""
    for statement in FILES[module].body:
        is_class = isinstance(statement, ast.ClassDef)
        for function in statement.body if is_class else [statement]:
            if isinstance(function, ast.FunctionDef):
                names = [module, statement.name] + [function.name] * (is_class and function.name not in ("__new__", "__init__"))
                yield ".".join(names), function


def unpacked(name, function):
    """The name of the dictionary in `**options: Unpack[…]`; no other annotation is expected."""
    annotation = function.args.kwarg.annotation
    is_unpacked = isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Unpack"
    assert is_unpacked, f"{name} has **{function.args.kwarg.arg}: {ast.unparse(annotation)}"
    return ast.unparse(annotation.slice)


class Options:
    """The dictionaries of `_options.pyi`."""

    def __init__(self):
        body = FILES["_options"].body
        self.aliases = {found.targets[0].id: found.value for found in body if isinstance(found, ast.Assign)}
        self.classes = {found.name: found for found in body if isinstance(found, ast.ClassDef)}

    def fields(self, name):
        """The fields of a dictionary, and the annotation of each."""
        found = self.classes[name]
        fields = {}
        for base in found.bases:
            fields.update(self.fields(base.id) if base.id in self.classes else {})
        fields.update({field.target.id: field.annotation for field in found.body if isinstance(field, ast.AnnAssign)})
        return fields

    def required(self, name):
        """The fields that a dictionary must have."""
        is_total = not any(keyword.arg == "total" and not keyword.value.value for keyword in self.classes[name].keywords)
        return {field for field, kind in self.fields(name).items() if is_total or ast.unparse(kind).startswith("Required[")}

    def kinds(self, annotation):
        """What an annotation allows: `Truth`, `Integer`, `Number`, `Sequence`, `None`, names of dictionaries, and a pair `("Literal", text)` for a choice."""
        if isinstance(annotation, ast.Constant):
            return {"None"}
        if isinstance(annotation, ast.Name):
            if annotation.id in ("Truth", "Integer", "Number") or annotation.id in self.classes:
                return {annotation.id}
            return self.kinds(self.aliases[annotation.id])
        inner = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        kind = annotation.value.id
        if kind == "Literal":
            return {("Literal", choice.value) for choice in inner}
        if kind == "Sequence":
            return {"Sequence"}
        assert kind in ("Optional", "Union", "Required"), kind
        found = set().union(*(self.kinds(one) for one in inner))
        return found | {"None"} if kind == "Optional" else found

    def choices(self, annotation):
        """The names that an annotation allows."""
        return {kind[1] for kind in self.kinds(annotation) if isinstance(kind, tuple)}

    def dictionaries(self, annotation):
        """The dictionaries that an annotation allows."""
        return {kind for kind in self.kinds(annotation) if kind in self.classes}
