import { Button } from "@/components/ui/button";

export default function Form() {
  return (
    <div className="form flex gap-2">
      {props.colors.map((color) => (
        <Button key={color} onClick={() => submitElement({ color, sure: true })}>
          {color}
        </Button>
      ))}
      <Button onClick={() => cancelElement()}>None</Button>
    </div>
  );
}
